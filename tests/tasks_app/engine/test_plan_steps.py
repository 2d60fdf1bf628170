"""`plan_step`: any call can name the step of the plan that begins with it, so that a plan costs no request."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from llm_app.models import Blob, LLMLog, Route
from llm_app.stored_prompt import load_tools
from tasks_app.hub.updates import AppendedEntry
from tasks_app.models import ToolCallLog, Workflow
from tests.provider import openai_call, openai_result
from tests.tasks_app.engine.conftest import Run, call, result
from tests.waiting import until
from tools_app.contract import base
from tools_app.contract.effects import PlanStep, StepStatus
from tools_app.errors import ToolError
from tools_app.mcp.tool import mcp_tool
from tools_app.tools.plan import begun

PLAN = call("plan", steps=["Look", "Build", "Check"])
LIST = {"action": "list", "path": "."}


def marks(run: Run) -> list[str]:
    run.task.refresh_from_db()
    return [step["status"] for step in run.task.plan]


def test_a_call_moves_the_plan_and_runs_as_without_it(play: Callable[..., Run]) -> None:
    run = play(PLAN, call("file", **LIST, plan_step=2), call("shell", command="echo hi", plan_step="3"), result())
    assert run.advance().state == "done"
    assert marks(run) == ["done", "done", "in_progress"]
    assert [status for status, _ in run.results()] == ["succeeded"] * 4
    assert run.results()[1][1] == "(empty)"
    logs = ToolCallLog.objects.filter(task=run.task).order_by("pk")
    assert [[remark["said"] for remark in log.remarks if remark["by"] == "plan"] for log in logs][1:3] == [
        ["step 2 begins"],
        ["step 3 begins"],
    ]
    assert not any("plan_step" in log.arguments for log in logs)


def test_the_plan_changes_before_the_call_has_ended(play: Callable[..., Run]) -> None:
    run = play(PLAN, call("shell", command="while [ ! -e go ]; do sleep 0.05; done", plan_step=2), result())
    thread = run.in_thread()
    until(lambda: marks(run) == ["done", "in_progress", "pending"])
    assert ToolCallLog.objects.get(task=run.task, name="shell").status == "started"
    (run.task.session.workspace_path / "go").touch()
    thread.join()


def test_programs_are_told_of_the_change(play: Callable[..., Run]) -> None:
    run = play(PLAN, call("file", **LIST, plan_step=2), call("file", **LIST, plan_step=2), result())
    run.advance()
    events = [
        json.loads(block.removeprefix("event: plan\ndata: "))
        for entry in run.entries
        for block in AppendedEntry(entry).as_sse.decode().strip().split("\n\n")
        if block.startswith("event: plan")
    ]
    assert [len(event["changed"]) for event in events] == [0, 2], "none for a step that goes on"


@pytest.mark.parametrize(
    ("step", "remark"),
    [(7, "plan_step changed no plan: it has 3 steps."), ("Fly", "plan_step changed no plan: it has 3 steps.")],
)
def test_a_step_that_does_not_exist_is_a_remark(play: Callable[..., Run], step: Any, remark: str) -> None:
    run = play(PLAN, call("file", **LIST, plan_step=step), result())
    run.advance()
    assert run.results()[1] == ("succeeded", f"(empty)\n[{remark}]")
    assert marks(run) == ["pending"] * 3


def test_without_a_plan_it_is_a_remark(play: Callable[..., Run]) -> None:
    run = play(call("file", **LIST, plan_step=1), result())
    run.advance()
    assert run.results()[0] == ("succeeded", "(empty)\n[plan_step changed no plan: there is none.]")


def test_the_steps_of_a_workflow_are_not_changed(play: Callable[..., Run]) -> None:
    workflow = Workflow.objects.create(name="Release")
    for position, title in enumerate(("Look", "Build"), 1):
        workflow.steps.create(position=position, title=title, instructions="Do it.")
    run = play(call("file", **LIST, plan_step=2), call("message", type="ask", text="?"), workflow=workflow)
    run.advance()
    assert run.results()[0][1] == "(empty)\n[plan_step changed nothing: this task has no plan of yours.]"
    assert marks(run) == ["in_progress", "pending"]


def test_a_refused_call_moves_nothing(play: Callable[..., Run]) -> None:
    run = play(PLAN, call("file", action="touch", path="a", plan_step=2), result())
    run.advance()
    assert marks(run) == ["pending"] * 3


def test_the_same_call_with_another_step_is_a_repetition(play: Callable[..., Run]) -> None:
    run = play(PLAN, *[call("file", **LIST, plan_step=1 + number % 2) for number in range(7)], result())
    run.advance()
    assert [status for status, _ in run.results()][1:8] == ["succeeded"] * 5 + ["blocked"] * 2


def test_models_read_of_it_in_the_plan_and_in_the_tools_of_most_work(play: Callable[..., Run]) -> None:
    run = play(PLAN, result())
    run.advance()
    log = LLMLog.objects.filter(task_id=run.task.id).latest("created_at")
    tools = load_tools(Blob.objects.get(pk=log.tools_blob).content)
    assert {tool.name for tool in tools if "plan_step" in tool.parameters["properties"]} == {"file", "shell"}
    assert "add plan_step" in run.results()[0][1]


def test_a_provider_that_enforces_schemas_lets_models_name_the_step(
    ask_http: Callable[..., Run], http_provider: Any
) -> None:
    Route.objects.update(quirks={"strict_tools": True})
    steps = {"action": "update", "steps": [{"title": "Look"}, {"title": "Build"}]}
    http_provider.replies = [
        openai_call("plan", steps),
        openai_call("file", {**LIST, "plan_step": 2, "content": None}, call_id="call_2"),
        openai_call("file", {**LIST, "plan_step": None}, call_id="call_3"),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    assert marks(run) == ["done", "in_progress"]
    tools = {tool["function"]["name"]: tool["function"] for tool in http_provider.received[0].body["tools"]}
    assert tools["file"]["strict"] is True
    assert {"type": "null"} in tools["file"]["parameters"]["properties"]["plan_step"]["anyOf"]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (1, "pnn"),
        (2, "dpn"),
        ("build", "dpn"),
        ("2", "dpn"),
        (4, "ddd"),
    ],
)
def test_steps_before_are_done_and_later_ones_open(named: Any, expected: str) -> None:
    statuses: dict[str, StepStatus] = {"Look": "pending", "Build": "pending", "Check": "in_progress"}
    steps = [PlanStep(title=title, status=status) for title, status in statuses.items()]
    words = {"d": "done", "n": "pending", "p": "in_progress"}
    assert [step.status for step in begun(steps, named)] == [words[letter] for letter in expected]


@pytest.mark.parametrize("named", [0, 5, -1, "", "Fly", True, [1], {"title": "Look"}])
def test_what_names_no_step_is_refused(named: Any) -> None:
    with pytest.raises(ToolError):
        begun([PlanStep(title=title, status="pending") for title in ("Look", "Build", "Check")], named)


def test_an_argument_of_this_name_that_a_server_declares_is_its_own() -> None:
    schema = {"type": "object", "properties": {"plan_step": {"type": "integer"}}}
    text = '{"plan_step": 2}'
    own = mcp_tool(server="a", tool="b", description="", schema=json.dumps(schema), digest="", danger="safe")
    other = mcp_tool(server="a", tool="c", description="", schema='{"type": "object"}', digest="", danger="safe")
    assert [base.plan_step_of(tool, text) for tool in (own, other)] == [None, 2]
    assert [base.read_arguments(tool, text).model_dump() for tool in (own, other)] == [{"plan_step": 2}, {}]
