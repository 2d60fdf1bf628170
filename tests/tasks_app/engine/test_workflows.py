"""Workflows: the engine advances their steps, and accepts no result before the last one."""

import pytest

from tasks_app import services
from tasks_app.models import Limits, Task, Workflow, WorkflowStep
from tasks_app.models.errors import WorkflowTooLate
from tasks_app.services import forks
from tests.tasks_app.engine.conftest import Run, call, result, script

DONE = call("step", action="done", note="Looked.")
BLOCKED = call("step", action="blocked", note="I have no key for the archive.")


@pytest.fixture
def workflow(transactional_db):
    workflow = Workflow.objects.create(name="Release")
    for position, title in enumerate(["Look", "Build", "Tell"]):
        instructions = f"This is how to {title.lower()}."
        WorkflowStep.objects.create(workflow=workflow, position=position, title=title, instructions=instructions)
    return workflow


def steps(run):
    return [entry for entry in run.entries if entry.context_type == "workflow_step"]


def test_each_workflow_step_is_described_when_it_begins(play, workflow):
    run = play(DONE, DONE, DONE, result("Released."), workflow=workflow)
    assert run.advance().state == "done"
    assert run.types[:3] == ["user_message", "system_reminder", "workflow_step"]
    first, second, third = steps(run)
    assert "“Release”: Look → Build → Tell" in first.content
    assert "Step 1 of 3: Look\nThis is how to look." in first.content
    assert second.content.startswith("Step 2 of 3: Build")
    assert third.content.startswith("Step 3 of 3: Tell")
    assert run.entries[second.seq - 2].content.startswith("The step is done. 2 more to go.")
    assert {step["status"] for step in run.task.plan} == {"done"}
    assert run.task.workflow["name"] == "Release"


def test_a_result_before_the_last_step_is_refused_with_the_open_steps(play, workflow):
    run = play(DONE, result("Early."), DONE, DONE, result("Now."), workflow=workflow)
    assert run.advance().state == "done"
    assert run.task.final_result["text"] == "Now."
    status, text = run.results()[1]
    assert status == "blocked"
    assert "Open steps: Build, Tell." in text


def test_a_blocked_step_asks_the_person_and_stays_the_current_one(play, workflow, owner):
    run = play(BLOCKED, DONE, workflow=workflow)
    task = run.advance()
    assert (task.state, task.waiting_for) == ("executing_tool", "reply")
    services.reply(task, owner, "The key is in the folder.")
    run.advance()
    assert run.results()[0] == ("succeeded", "The key is in the folder.")
    assert len(steps(run)) == 2


def test_the_step_tool_replaces_the_plan_tool_in_workflows(play, workflow):
    run = play(call("plan", action="update", steps=[{"title": "Mine"}]), *[DONE] * 3, result(), workflow=workflow)
    run.advance()
    assert run.results()[0] == ("blocked", "The tool plan is not available here.")
    other = play(DONE, result())
    other.advance()
    assert ("blocked", "The tool step is not available here.") in other.results()


def test_a_running_task_keeps_the_steps_that_it_started_with(play, workflow, owner):
    run = play(BLOCKED, DONE, DONE, DONE, result(), workflow=workflow)
    run.advance()
    workflow.delete()
    services.reply(run.task, owner, "Go on.")
    assert run.advance().state == "done"
    assert len(steps(run)) == 3


def test_without_tool_calls_left_a_workflow_can_end_early(play, workflow):
    Limits.objects.create(pk=1, tool_call_limit=1)
    run = play(DONE, result("As far as I came."), workflow=workflow)
    assert run.advance().state == "done"
    assert [step["status"] for step in run.task.plan] == ["done", "in_progress", "pending"]


def test_a_workflow_is_queued_or_refused_while_a_task_runs(play, workflow, owner):
    run = play(call("message", type="ask", text="?"), result())
    run.advance()
    session = run.task.session
    with pytest.raises(WorkflowTooLate):
        services.post_message(session, owner, "Release it.", workflow=workflow)
    services.post_message(session, owner, script(*[DONE] * 3, result("Out.")), workflow=workflow, mode="queue")
    services.reply(run.task, owner, "Yes.")
    run.advance()
    following = Run(Task.objects.active().get(session=session))
    assert following.advance().final_result["text"] == "Out."
    assert len(steps(following)) == 3


def test_a_resent_message_repeats_the_workflow(play, workflow, owner):
    run = play(DONE, DONE, DONE, result("Released."), workflow=workflow)
    run.advance()
    fork = forks.send_again(run.task.session, run.entries[-1].seq, owner)
    again = Run(fork.tasks.active().get())
    assert again.advance().state == "done"
    assert len(steps(again)) == 3
