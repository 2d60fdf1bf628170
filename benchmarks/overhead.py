"""The engine's time per iteration: between an answer's end and the next request, on SQLite, in one process."""

import os
import sqlite3
from pathlib import Path

from benchmarks import floor
from benchmarks.provider import Gaps, Provider

LENGTHS = (50, 200, 400)


def report(provider: Provider, folder: Path) -> None:
    """Prints a table: ours and the floor, in milliseconds per iteration. Bars: 10 ms at the median, no growth."""
    owner, model = _set_up(provider)
    _engine(provider, owner, model, 5)  # imports and first connections are not an iteration's cost
    floor.run(provider, 5, folder)
    print("engine overhead per iteration, ms        p50    p95  first tenth  last tenth  floor p50  ratio  store KiB")
    for steps in LENGTHS:
        before = _store_size()
        ours, bare = _engine(provider, owner, model, steps), floor.run(provider, steps, folder)
        row = f"{ours.p50:8.2f} {ours.p95:6.2f} {ours.tenth(0):12.2f} {ours.tenth(-1):11.2f} {bare.p50:10.2f}"
        print(f"{steps:6} iterations                 {row} {ours.p50 / bare.p50:6.1f} {_store_size() - before:10.0f}")


def _set_up(provider: Provider) -> tuple[object, object]:
    from agentsite.serving import first_start
    from llm_app.models import LogicalModel
    from llm_app.models import Provider as ProviderRow

    first_start.migrate()
    row = ProviderRow.objects.create(name="fake", protocol="openai_native", base_url=f"{provider.base_url}/v1")
    model = LogicalModel.objects.create(name="default", is_default=True, context_window=10_000_000)
    for steps in (5, *LENGTHS):
        LogicalModel.objects.create(name=f"loop-{steps}", context_window=10_000_000)
        LogicalModel.objects.get(name=f"loop-{steps}").routes.create(provider=row, provider_model=f"loop-{steps}")
    return first_start.ensure_admin().user, model


def _engine(provider: Provider, owner: object, model: object, steps: int) -> Gaps:
    from llm_app.models import LogicalModel
    from tasks_app import jobs, services
    from tasks_app.models import Task

    session = services.create_session(owner, model=LogicalModel.objects.get(name=f"loop-{steps}"))
    provider.reset()
    task = services.post_message(session, owner, "go", max_iterations=steps + 10).task
    assert task is not None
    while Task.objects.active().filter(pk=task.pk).exists():
        jobs.advance(task.pk)
    task.refresh_from_db()
    assert task.state == "done", (task.state, task.failure_detail)
    return provider.gaps()


def _store_size() -> float:
    """KiB of the database after a checkpoint of its log."""
    path = Path(os.environ["AGENTSITE_VAR"]) / "agentsite.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size / 1024
