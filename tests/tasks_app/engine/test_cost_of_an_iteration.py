"""The cost of an iteration, and of the beginning and end of a task, in figures that are independent of the machine.

They count statements, commits and function calls. `pytest -s` on this file prints their origins.
"""

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.provider import Provider, fake_provider
from llm_app.models import LogicalModel
from tasks_app import services
from tasks_app.models import Task
from tasks_app.runtime import event_loop
from tasks_app.worker import jobs
from tests import factories

SHORT, LONG = 5, 25  # iterations; the beginning and the end of a task are in both
PLAIN, AWAITED = "loop", "list"  # a message to the person; an asynchronous list of files
MOST_COMMITS = {PLAIN: 1.1, AWAITED: 2.1}  # plus an occasional reminder
MOST_STATEMENTS = {PLAIN: 7, AWAITED: 11}  # without BEGIN and COMMIT
# Calls of all functions, on the engine's thread and the event loop's. Psycopg's functions count, as they are Python.
MOST_CALLS = {PLAIN: 2_500, AWAITED: 3_450} if connection.vendor == "sqlite" else {PLAIN: 3_400, AWAITED: 4_950}
MOST_STATEMENTS_AROUND = 95  # for a message, the start of its task, and its end
MOST_CALLS_AROUND = 16_700 if connection.vendor == "sqlite" else 24_500
Run = Callable[[int], None]


@pytest.fixture(params=[PLAIN, AWAITED])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with fake_provider() as running:
        yield running


@pytest.fixture
def run(owner: Any, provider: Provider, kind: str) -> Run:
    """A function that runs a task of so many iterations, over real HTTP."""
    row = factories.ProviderFactory(protocol="openai_native", base_url=f"{provider.base_url}/v1")
    for steps in (SHORT, LONG):
        factories.RouteFactory(provider=row, model__name=f"{kind}-{steps}", provider_model=f"{kind}-{steps}")

    def of(steps: int) -> None:
        provider.reset()
        session = factories.SessionFactory(owner=owner, model=LogicalModel.objects.get(name=f"{kind}-{steps}"))
        task = services.post_message(session, owner, "Go.").task
        assert task is not None
        jobs.advance(task.pk)
        assert Task.objects.get(pk=task.pk).state == "done"

    for steps in (SHORT, LONG):  # do everything that happens once, such as imports
        of(steps)
    return of


def per_iteration(short: Counter[str], long: Counter[str]) -> dict[str, float]:
    """Return the counts per iteration, the most frequent first."""
    return {what: (count - short[what]) / (LONG - SHORT) for what, count in long.most_common()}


def statements(run: Run, steps: int) -> Counter[str]:
    with CaptureQueriesContext(connection) as caught:
        run(steps)
    return Counter(_summary(" ".join(query["sql"].split())) for query in caught)


def _summary(sql: str) -> str:
    """Return the verb of a statement and its tables."""
    tables = dict.fromkeys(re.findall(r'(?:FROM|INTO|JOIN|^UPDATE) "?(\w+)', sql))
    return f"{sql.split(maxsplit=1)[0]} {' '.join(tables)}".strip()


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count function calls by the file of the function, or of the caller if the function has none."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            calls[frame.f_code.co_filename] += 1

    _on_loop(lambda: sys.setprofile(count))
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        _on_loop(lambda: sys.setprofile(None))


def _on_loop(do: Callable[[], None]) -> None:
    done = threading.Event()
    event_loop.get().call_soon_threadsafe(lambda: (do(), done.set()))
    assert done.wait(30)


def calls(run: Run, steps: int) -> Counter[str]:
    with counted_calls() as found:
        run(steps)
    return found


def test_an_iteration_has_few_statements_and_commits(run: Run, kind: str) -> None:
    found = per_iteration(statements(run, SHORT), statements(run, LONG))
    for statement, count in found.items():
        print(f"{count:6.2f}  {statement}")
    commits, begins = found.pop("COMMIT"), found.pop("BEGIN")
    assert begins == commits <= MOST_COMMITS[kind]
    assert sum(found.values()) <= MOST_STATEMENTS[kind]


def test_an_iteration_calls_few_functions(run: Run, kind: str) -> None:
    found = per_iteration(calls(run, SHORT), calls(run, LONG))
    for file, count in list(found.items())[:40]:
        print(f"{count:8.1f}  {file}")
    total = sum(found.values())
    print(f"{total:8.1f}  in all")
    assert total <= MOST_CALLS[kind]


def test_a_task_begins_and_ends_with_few_statements_and_calls(run: Run) -> None:
    for count, most in ((statements, MOST_STATEMENTS_AROUND), (calls, MOST_CALLS_AROUND)):
        short, long = count(run, SHORT), count(run, LONG)
        around = short.total() - SHORT * (long.total() - short.total()) / (LONG - SHORT)
        print(f"{around:8.1f}  {count.__name__}")
        assert around <= most
