"""What one iteration asks of the server: CPU, statements, commits, Python calls; beside it, the floor's CPU.

A process of its own for each database: SQLite, and PostgreSQL where one answers at BENCH_POSTGRES.
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
SHORT, LONG = 10, 60  # what both have in common is no iteration's cost
LENGTHS = (LONG, 200, 400)
AWAITED = "list"  # the model whose tool is awaited: such a call is stored before it runs, and its result after it
ROUNDS = 7  # ours and the floor in turns: a machine is not as fast all the time
_WRITES = ("INSERT", "UPDATE", "DELETE")


def report() -> None:
    """Prints a table. Bars: 12 statements, 2 commits, 8,000 Python calls, 4 floors.

    A longer task has longer requests, which the floor serializes whole each time.
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
    """A new database, for as long as it is needed; None if no server answers."""
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

        run(SHORT)  # imports and first connections are not an iteration's cost
        for steps in lengths:
            cpu, least = _cpu(run, bare, steps)
            title = f"{name}, {steps} of a task" + (", awaited" if kind == AWAITED else "")
            times = f"{title:<32} {cpu:9.2f} {least:7.2f} {cpu / least:6.1f}"
            print(times, _counts(run) if steps == LONG else "", flush=True)


def _counts(run: overhead.Run) -> str:
    """They are the same in long tasks."""
    (short, first), (long, last) = (_asked(run, steps) for steps in (SHORT, LONG))
    calls = (_calls(run, LONG) - _calls(run, SHORT)) / (LONG - SHORT)
    return f"{(long - short) / (LONG - SHORT):11.1f} {(last - first) / (LONG - SHORT):8.1f} {calls:13,.0f}"


def _cpu(run: overhead.Run, bare: overhead.Run, steps: int) -> tuple[float, float]:
    """Milliseconds of both for each iteration, the medians."""
    rounds = [[_used(work, count) for work in (run, bare) for count in (SHORT, steps)] for _ in range(ROUNDS)]
    ours, least = (median(one[place + 1] - one[place] for one in rounds) for place in (0, 2))
    return 1000 * ours / (steps - SHORT), 1000 * least / (steps - SHORT)


def _used(run: overhead.Run, steps: int) -> float:
    """Seconds."""
    began = time.process_time()
    run(steps)
    return time.process_time() - began


def _asked(run: overhead.Run, steps: int) -> tuple[int, int]:
    """Statements without BEGIN and COMMIT, and commits, those of single statements among them."""
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
    """Calls of functions in the engine's thread, those of built-in ones among them."""
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
