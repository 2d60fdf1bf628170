"""Size and query limits of a session's page, whose closed parts are not sent."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session as Login
from django.db.models.sql.compiler import SQLCompiler

from agentsite.static_files import plain_name, prepared
from llm_app.types import ToolCall
from tasks_app.models import ContextType, Session, Task
from tasks_app.record import Draft
from tasks_app.record.draft import result
from tasks_app.run.next_task import tasks_waiting_for
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.tasks_app.pages.conftest import Browser

CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("shell", {"command": "pytest -q tests/reports | tail -40"}),
    ("file", {"action": "write", "path": "src/totals.py", "content": "def total(rows):\n    return sum(rows)\n" * 12}),
    ("search", {"query": "rounding of halves in reports"}),
)
WORDS = "## What was wrong\n\n" + "The **totals** were rounded twice; `part.py` rounds once now.\n\n" * 5


def work() -> Iterator[Draft]:
    """Append messages with files, calls with long results and words, and answers."""
    number = 0
    while True:
        metadata = {"author": "alice", "attachments": ["week.csv"]}
        yield Draft(context_type=ContextType.USER_MESSAGE, content="Please mend the report.", metadata=metadata)
        for kind in range(7):
            number += 1
            name, arguments = CALLS[kind % 3]
            call = ToolCall(id=f"call_{number}", name=name, arguments=json.dumps(arguments))
            words = "I look at the next part first." if kind % 2 else ""
            yield Draft(context_type=ContextType.TOOL_CALL, tool_call=call, content=words)
            yield result(call.id, "tests/part.py .......... <passed> in 0.3 s\n" * 40, "succeeded")
        said = {"type": "result", "text": WORDS, "attachments": ["report.pdf"], "suggestions": ["Print it"]}
        answer = ToolCall(id=f"answer_{number}", name="message", arguments=json.dumps(said))
        yield Draft(context_type=ContextType.AI_MESSAGE, tool_call=answer)
        yield result(answer.id, "Delivered.", "succeeded")


@pytest.fixture
def grow(task: Task, alice: Any) -> Any:
    """Return a function that grows one of thirty sessions of alice, with a plan and a running task."""
    for number in range(29):
        factories.SessionFactory(owner=alice, title=f"The report of week {number}")
    task.plan = [{"title": f"Step {number} of the plan", "status": "done"} for number in range(8)]
    task.save()
    return lambda entries: factories.append(task, *(draft for draft, _ in zip(work(), range(entries), strict=False)))


@pytest.mark.parametrize(("entries", "most"), [(40, 30_400), (600, 50_000)])
def test_page_size_does_not_grow_with_the_session(
    entries: int, most: int, grow: Any, alices: Browser, session: Session
) -> None:
    """Limit the HTML. The complete page with 40 entries is within 140 kB."""
    grow(entries)
    for number in range(40):
        workspace_of(session).write_bytes(f"reports/{number // 10}/week-{number}.csv", b"a;b")
    page = alices.page(session.get_absolute_url())
    assert page.count("<article id=") >= 22  # forty entries
    assert len(page.encode()) <= most
    files = set(re.findall(r'(?:href|src)="/static/([^"#]+)', page))
    assert len(files) + 1 <= 9
    copies = [path for path in map(prepared, map(plain_name, files)) if path]
    assert len(copies) == len(files)
    assert sum(path.stat().st_size for path in copies) <= 110_500
    assert sum(path.with_name(f"{path.name}.gz").stat().st_size for path in copies) <= 40_000


def test_contents_of_a_card_are_fetched_when_opened(grow: Any, alices: Browser, session: Session) -> None:
    grow(5)
    page = alices.page(session.get_absolute_url())
    (first, *_) = re.findall(r'<a href="([^"]+/steps/\d+/)">Arguments and result</a>', page)
    assert "passed" not in page
    assert "&lt;passed&gt; in 0.3 s" in alices.page(first)
    piece = alices.get(first, headers={"HX-Request": "true"}).content.decode()
    assert "&lt;passed&gt; in 0.3 s" in piece
    assert "<html" not in piece


def test_long_session_opens_with_few_queries(
    grow: Any, alices: Browser, session: Session, django_assert_max_num_queries: Any
) -> None:
    """Use as many entries as a page shows: 2,000 would need the same queries."""
    grow(200)
    with django_assert_max_num_queries(28):
        alices.page(session.get_absolute_url())


@pytest.mark.parametrize(("address", "most"), [("/", 0), ("/inbox/", 0), ("/projects/", 1), ("/sessions/", 1)])
def test_sql_of_a_page_is_cached(
    address: str, most: int, alices: Browser, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that SQL is cached: Django takes ten times as long to compose it as the database to answer. Only the query
    for the user is always composed.
    """
    composed: list[type[Any]] = []
    alices.page(address)
    ask = SQLCompiler.execute_sql

    def counted(self: Any, *arguments: Any, **named: Any) -> Any:
        composed.append(self.query.model)
        return ask(self, *arguments, **named)

    monkeypatch.setattr(SQLCompiler, "execute_sql", counted)
    alices.page(address)
    assert len([model for model in composed if model not in (Login, get_user_model())]) <= most, composed


@pytest.mark.sqlite
def test_waiting_items_are_counted_by_an_index(alice: Any) -> None:
    """Check that counting reads no session and no call while nothing waits, as every page shows the count."""
    plan = tasks_waiting_for(alice).order_by().explain()
    assert "USING INDEX waiting_tasks" in plan.splitlines()[0]
    assert "SCAN sessions" not in plan
    assert "SCAN tool_call_logs" not in plan
