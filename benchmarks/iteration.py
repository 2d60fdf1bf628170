"""The cost of an iteration in CPU, statements, commits and Python calls, compared with the floor's CPU.

Each database has a separate process: SQLite, and PostgreSQL if it answers at BENCH_POSTGRES.
"""

import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from benchmarks import floor, overhead
from benchmarks.provider import Provider, fake_provider

POSTGRES = os.environ.get("BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
SHORT, LONG = 10, 60  # their difference excludes the fixed cost of a task
LENGTHS = (LONG, 200, 400)
AWAITED = "list"  # a model with an awaited tool: the call is stored before it runs, and its result afterwards
ROUNDS = 7  # the engine and the floor in turns, as the speed of a machine changes
_WRITES = ("INSERT", "UPDATE", "DELETE")


def report() -> None:
    """Print a table. Bars: 12 statements, 2 commits, 8,000 Python calls, 4 floors.

    A longer task has longer requests, which the floor serializes completely each time.
    """
    head = "ms of CPU   floor  ratio  statements  commits  Python calls"
    print(f"{'an iteration':<32} {head}", flush=True)
    _measure_apart("SQLite", None)
    with _postgres() as url:
        if url:
            _measure_apart("PostgreSQL", url)
        else:
            print("PostgreSQL: none answers: BENCH_POSTGRES=postgres://…")


def _measure_apart(name: str, url: str | None) -> None:
    environment = {**os.environ, **({"DATABASE_URL": url} if url else {})}
    subprocess.run([sys.executable, "-m", "benchmarks.iteration", name], env=environment, check=True)


@contextmanager
def _postgres() -> Iterator[str | None]:
    """Yield the URL of a new database, dropped afterwards; None if no server answers."""
    import psycopg

    name = f"agentsite_bench_{os.getpid()}"
    try:
        connection = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=2)
    except psycopg.OperationalError:
        yield None
        return
    with closing(connection):
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRES.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _measure(name: str, provider: Provider, folder: Path) -> None:
    owner = overhead.set_up(provider, (SHORT, *LENGTHS))

    def bare(steps: int) -> None:
        floor.run(provider, steps, folder)

    for kind, lengths in (("loop", LENGTHS), (AWAITED, (LONG,))):

        def run(steps: int, kind: str = kind) -> None:
            overhead.engine(provider, owner, f"{kind}-{steps}", steps)

        run(SHORT)  # exclude imports and first connections
        for steps in lengths:
            cpu, floor_cpu = _cpu(run, bare, steps)
            title = f"{name}, {steps} of a task" + (", awaited" if kind == AWAITED else "")
            times = f"{title:<32} {cpu:9.2f} {floor_cpu:7.2f} {cpu / floor_cpu:6.1f}"
            print(times, _counts(run) if steps == LONG else "", flush=True)


def _counts(run: overhead.Run) -> str:
    """Return the counts of one iteration as text. They are the same in long tasks."""
    (short, first), (long, last) = (_count_statements(run, steps) for steps in (SHORT, LONG))
    calls = (_calls(run, LONG) - _calls(run, SHORT)) / (LONG - SHORT)
    return f"{(long - short) / (LONG - SHORT):11.1f} {(last - first) / (LONG - SHORT):8.1f} {calls:13,.0f}"


def _cpu(run: overhead.Run, bare: overhead.Run, steps: int) -> tuple[float, float]:
    """Return the median CPU time per iteration of both in milliseconds."""
    engine_seconds, floor_seconds = [], []
    for _ in range(ROUNDS):
        short = _cpu_seconds(run, SHORT)
        engine_seconds.append(_cpu_seconds(run, steps) - short)
        short = _cpu_seconds(bare, SHORT)
        floor_seconds.append(_cpu_seconds(bare, steps) - short)
    iterations = steps - SHORT
    return 1000 * median(engine_seconds) / iterations, 1000 * median(floor_seconds) / iterations


def _cpu_seconds(run: overhead.Run, steps: int) -> float:
    """Return the CPU time of a run in seconds."""
    began = time.process_time()
    run(steps)
    return time.process_time() - began


def _count_statements(run: overhead.Run, steps: int) -> tuple[int, int]:
    """Return the statements without BEGIN and COMMIT, and the commits, including those of single statements."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    statements, commits, is_open = 0, 0, False
    with CaptureQueriesContext(connection) as caught:
        run(steps)
    for query in caught:
        match query["sql"].split(maxsplit=1)[0]:
            case "BEGIN":
                is_open = True
            case "COMMIT":
                commits, is_open = commits + 1, False
            case verb:
                statements += 1
                commits += verb in _WRITES and not is_open
    return statements, commits


def _calls(run: overhead.Run, steps: int) -> float:
    """Return the number of function calls in the engine's thread, including built-in functions."""
    with cProfile.Profile() as profile:
        run(steps)
    return float(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="agentsite-bench-") as folder:
        os.environ |= {"AGENTSITE_VAR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
        import django

        django.setup()
        from llm_app.transport import wire

        with fake_provider() as provider:
            _measure(sys.argv[1], provider, Path(folder))
        wire.close()


if __name__ == "__main__":
    main()
