"""Changes of the plan as events for programs, in the stream and as JSON lines."""

import json
from typing import Any

from agentsite.terminal.reports import JsonLinesReport
from tasks_app.hub.updates import AppendedEntry
from tasks_app.models import Workflow
from tests.tasks_app.engine.conftest import Run, call, result


def plan(*steps: tuple[str, str]) -> dict[str, Any]:
    return call("plan", action="update", steps=[{"title": title, "status": status} for title, status in steps])


def streamed(run: Run) -> list[dict[str, Any]]:
    blocks = [block for entry in run.entries for block in AppendedEntry(entry).as_sse.decode().strip().split("\n\n")]
    return [
        json.loads(block.removeprefix("event: plan\ndata: ")) for block in blocks if block.startswith("event: plan")
    ]


def printed(run: Run) -> list[dict[str, Any]]:
    lines: list[str] = []
    report = JsonLinesReport(lines.append)
    report.started(run.task)
    for entry in run.entries:
        report.entry(entry)
    return [found for line in lines if (found := json.loads(line)).pop("type") == "plan"]


def test_each_plan_event_has_its_difference(play: Any) -> None:
    run = play(
        plan(("Look", "in_progress"), ("Build", "pending")),
        call("plan", action="advance"),
        plan(("Look", "done"), ("Rebuild", "in_progress")),
        call("file", action="list", path="."),
        result(),
    )
    assert run.advance().state == "done"
    first, second, third = streamed(run)
    assert first == {
        "task": str(run.task.pk),
        "steps": [{"title": "Look", "status": "in_progress"}, {"title": "Build", "status": "pending"}],
        "added": ["Look", "Build"],
        "removed": [],
        "changed": [],
    }
    assert second["changed"] == [
        {"title": "Look", "from": "in_progress", "to": "done"},
        {"title": "Build", "from": "pending", "to": "in_progress"},
    ]
    assert (third["added"], third["removed"], third["changed"]) == (["Rebuild"], ["Build"], [])
    assert printed(run) == [first, second, third]


def test_the_steps_of_a_workflow_are_a_plan(play: Any) -> None:
    workflow = Workflow.objects.create(name="Release")
    for position, title in enumerate(("Look", "Build"), 1):
        workflow.steps.create(position=position, title=title, instructions="Do it.")
    run = play(call("step", action="done"), call("step", action="done"), result(), workflow=workflow)
    assert run.advance().state == "done"
    assert [event["changed"] for event in streamed(run)] == [
        [],
        [
            {"title": "Look", "from": "in_progress", "to": "done"},
            {"title": "Build", "from": "pending", "to": "in_progress"},
        ],
        [{"title": "Build", "from": "in_progress", "to": "done"}],
    ]
