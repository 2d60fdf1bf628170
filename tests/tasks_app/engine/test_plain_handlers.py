"""Safe calls of plain handlers leave nothing to recover: one commit stores the call with its result."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.models import Agent, Task, ToolCallLog
from tests.tasks_app.engine.conftest import Run, call, result
from tests.tasks_app.engine.test_crashes import crash
from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, registry
from tools_app.contract.effects import Finish
from tools_app.errors import ToolError
from tools_app.hooks.builtin import SAFE_MODE

INFO = call("message", type="info", text="Half of it is done.")
PLAN = call("plan", action="update", steps=[{"title": "Look", "status": "pending"}])
LIST = call("file", action="list", path=".")
Play = Callable[..., Run]


class Subject(Arguments):
    subject: str


def consult(arguments: Subject, context: ToolContext) -> ToolResult:
    match arguments.subject:
        case "end":
            return ToolResult(content="That is all.", effects=[Finish(text="All.")])
        case "fault":
            raise ToolError("Nobody knows.")
        case _:
            raise ZeroDivisionError


@pytest.fixture
def oracle() -> Iterator[None]:
    """A plain tool that ends the task, or fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_tools", dict(registry._tools))
        registry.tool(name="oracle", description="Knows.", arguments=Subject, danger=Danger.SAFE, target=Target.ENGINE)(
            consult
        )
        yield


def commits_of(play: Play, *calls: Any) -> int:
    run = play(*calls, result())
    with CaptureQueriesContext(connection) as caught:
        assert run.advance().state == "done"
    return sum(query["sql"] == "COMMIT" for query in caught)


def test_a_call_and_its_result_are_stored_by_one_commit(play: Play) -> None:
    commits_of(play, INFO)  # blobs that are stored once, such as the prompt
    base = commits_of(play)
    assert [commits_of(play, each) - base for each in (INFO, PLAN, LIST)] == [1, 1, 2]
    log = ToolCallLog.objects.get(name="plan")
    assert (log.status, log.danger) == ("succeeded", "safe")
    assert Task.objects.exclude(plan=[]).get().plan == [{"title": "Look", "status": "pending"}]


def test_with_hooks_the_call_is_stored_before_it_runs(play: Play) -> None:
    run = play(INFO, result())
    services.change_session(run.task.session, agent=Agent.objects.create(name="careful", hooks=[SAFE_MODE]))
    states: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        started = run_tool.tool_context
        seen = lambda *about: (states.append(Task.objects.get(pk=run.task.pk).state), started(*about))[1]  # noqa: E731
        patch.setattr(run_tool, "tool_context", seen)
        assert run.advance().state == "done"
    assert set(states) == {"executing_tool"}


def test_after_a_crash_within_it_the_model_is_asked_again(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    run = play(INFO, result())
    crash(run, monkeypatch, run_tool, "tool_context")
    assert run.types == ["user_message", "system_reminder"]
    assert not ToolCallLog.objects.exists()
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()] == ["succeeded", "succeeded"]


@pytest.mark.usefixtures("oracle")
def test_a_call_that_ends_the_task_is_recorded_before_the_end(play: Play) -> None:
    run = play(call("oracle", subject="end"))
    assert run.advance().state == "done"
    assert run.task.final_result["text"] == "All."
    assert ToolCallLog.objects.get().status == "succeeded"


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(("subject", "said"), [("fault", "Nobody knows."), ("?", "internal error")])
def test_a_failing_plain_handler_has_a_result(play: Play, subject: str, said: str) -> None:
    run = play(call("oracle", subject=subject), result())
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "failed"
    assert said in content
