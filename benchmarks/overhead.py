"""The engine's time per iteration, from the end of an answer to the next request, on SQLite in one process."""

import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import floor
from benchmarks.provider import Gaps, Provider

Run = Callable[[int], None]  # takes the number of iterations
LENGTHS = (50, 200, 400)
LONG = "loop-200x3000"  # 1,000 tokens per iteration, so that the cut moves in a window of 128,000
_HEAD = "engine overhead per iteration, ms        p50    p95  first tenth  last tenth  sent before"
_FLOOR_HEAD = "  floor p50  ratio  store KiB"


def report(provider: Provider, folder: Path) -> None:
    """Print a table of the engine and the floor, in milliseconds per iteration.

    Bars: 10 ms at the median and no growth; 95 % of the bytes of 200 iterations were sent before; 5 MiB in the store
    for 400.
    """
    from tasks_app.models import ContextCut

    owner = set_up(provider, (5, *LENGTHS))
    engine(provider, owner, "loop-5", 5)  # exclude imports and first connections
    floor.run(provider, 5, folder)
    print(_HEAD + _FLOOR_HEAD)
    for steps in LENGTHS:
        before = _store_size()
        ours, bare = engine(provider, owner, f"loop-{steps}", steps), floor.run(provider, steps, folder)
        compared = f"{bare.p50:10.2f} {ours.p50 / bare.p50:6.1f} {_store_size() - before:10.0f}"
        print(f"{steps:6} iterations                 {_row(ours)} {compared}")
    long = engine(provider, owner, LONG, 200)
    print(f"   200 iterations, 200,000 tokens  {_row(long)}  with {ContextCut.objects.count()} moves of the cut")


def _row(ours: Gaps) -> str:
    times = f"{ours.p50:8.2f} {ours.p95:6.2f} {ours.tenth(0):12.2f} {ours.tenth(-1):11.2f}"
    return f"{times} {ours.repeated_percent:10.1f} %"


def set_up(provider: Provider, lengths: Iterable[int]) -> object:
    """Create a model for each number of iterations, and return the owner of the sessions."""
    from agentsite.serving import first_start
    from llm_app.models import LogicalModel
    from llm_app.models import Provider as ProviderRow

    first_start.migrate()
    row = ProviderRow.objects.create(name="fake", protocol="openai_native", base_url=f"{provider.base_url}/v1")
    LogicalModel.objects.create(name="default", is_default=True)
    windows = {f"{kind}-{steps}": 10_000_000 for kind in ("loop", "list") for steps in lengths} | {LONG: 128_000}
    for name, window in windows.items():
        model = LogicalModel.objects.create(name=name, context_window=window)
        model.routes.create(provider=row, provider_model=name)
    return first_start.ensure_admin().user


def engine(provider: Provider, owner: object, model: str, steps: int) -> Gaps:
    """Run one task with `steps` iterations."""
    from llm_app.models import LogicalModel
    from tasks_app import services
    from tasks_app.models import Task
    from tasks_app.worker import jobs

    session = services.create_session(owner, model=LogicalModel.objects.get(name=model))
    provider.reset()
    task = services.post_message(session, owner, "go", max_iterations=steps + 10).task
    assert task is not None
    while Task.objects.active().filter(pk=task.pk).exists():
        jobs.advance(task.pk)
    task.refresh_from_db()
    assert task.state == "done", (task.state, task.failure_detail)
    return provider.gaps()


def _store_size() -> float:
    """Return the size of the database in KiB, after a checkpoint of its log."""
    path = Path(os.environ["AGENTSITE_VAR"]) / "agentsite.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size / 1024
