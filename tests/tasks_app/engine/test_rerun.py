"""Reruns: a recorded task runs again without a model, and the first divergence is named."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from llm_app.models import Blob, LLMLog
from tasks_app import services
from tasks_app.models import Agent, ContextEntry, Limits, Task
from tasks_app.replay.rerun import rerun
from tasks_app.services import forks
from tests.provider import openai_call, openai_result, openai_text
from tests.tasks_app.engine.conftest import Run, call, result
from tools_app.models import ToolSetting

LIST = call("file", action="list", path=".")


def as_recorded(task: Task) -> None:
    rows = {model: list(model.objects.values()) for model in (ContextEntry, LLMLog, Task)}
    outcome = rerun(Task.objects.get(pk=task.pk))
    assert outcome.divergence == ""
    assert outcome.entries == ContextEntry.objects.filter(task=task, in_context=True).count()
    assert outcome.requests == LLMLog.objects.filter(task_id=task.pk, purpose="step").count()
    assert rows == {model: list(model.objects.values()) for model in rows}, "a re-run writes nothing"


@pytest.mark.parametrize(
    "replies",
    [
        [call("message", type="info", text="One."), LIST, result()],
        ["no call at all", result()],
        [{"calls": [LIST, call("plan", action="advance")], "thinking": "Hm."}, result()],
        [*[LIST] * 7, result()],
        [{"call": "nothing", "arguments": {}}, {"call": "file", "arguments": "{"}, result()],
        [{"call": "b a d", "arguments": {}}, result()],
        ["never"] * 5,
    ],
    ids=["plain", "no call", "deferred", "loop", "refused", "unreadable", "failed"],
)
def test_a_recorded_task_reruns_without_divergence(play: Callable[..., Run], replies: list[Any]) -> None:
    run = play(*replies)
    assert not run.advance().is_active
    as_recorded(run.task)


def test_questions_approvals_and_stops_rerun(play: Callable[..., Run], owner: Any) -> None:
    dangerous = call("shell", command="git push --force")
    run = play(call("message", type="ask", text="Which?"), dangerous, dangerous, result())
    run.advance()
    services.reply(run.task, owner, "Blue")
    run.advance()
    services.decide(run.task, owner, "rejected", note="No.")
    run.advance()
    as_recorded(run.task)
    services.stop(run.task)
    run.advance()
    as_recorded(run.task)


def test_interjections_and_second_tasks_rerun(play: Callable[..., Run], owner: Any) -> None:
    run = play(call("message", type="ask", text="Which?"), LIST, result())
    run.advance()
    services.post_message(run.task.session, owner, "Wait.")
    run.advance()
    services.post_message(run.task.session, owner, "Again.", mode="queue")
    second = run.task.session.tasks.exclude(pk=run.task.pk).first() or run.task
    Run(second).advance()
    for task in Task.objects.all():
        as_recorded(task)


def test_failover_is_no_divergence(ask_http: Any, http_provider: Any) -> None:
    http_provider.replies = [
        openai_call("message", {"type": "info", "text": "I beg"}, cut=True),
        openai_call("message", {"type": "info", "text": "Hello."}),
        openai_text("words"),
        openai_result(),
    ]
    run = ask_http()
    run.advance()
    as_recorded(run.task)


def test_a_fork_runs_again_up_to_its_closed_call(play: Callable[..., Run], owner: Any) -> None:
    run = play(LIST, result())
    run.advance()
    as_recorded(forks.fork(run.task.session, 3, owner).tasks.get())


@pytest.fixture
def ended(play: Callable[..., Run]) -> Task:
    run = play(LIST, "no call", LIST, result())
    return run.advance()


def test_a_changed_system_prompt_is_named_with_its_first_line(ended: Task, owner: Any) -> None:
    owner.preferences = "Speak like a pirate."
    owner.save()
    said = rerun(ended).divergence
    assert said.startswith("step 1 (call ")
    assert "user_preferences" in said


def test_a_removed_tool_is_named(ended: Task) -> None:
    ToolSetting.objects.update_or_create(name="browser", defaults={"enabled": False})
    said = rerun(ended).divergence
    assert "browser" in said or "system prompt" in said


def test_a_new_refusal_is_named(ended: Task) -> None:
    agent = Agent.objects.create(name="no files", denied_tools=["file"])
    ended.session.agent = agent
    ended.session.save()
    LLMLog.objects.all().delete()  # otherwise the tool list would differ first
    said = rerun(Task.objects.get(pk=ended.pk)).divergence
    assert said.startswith("entry 4 was tool_result")
    assert "not available here" in said


def test_changed_limits_are_named(ended: Task) -> None:
    Limits.objects.create(pk=1, no_tool_call_retries=7)
    assert "7 more such replies" in rerun(ended).divergence


@pytest.mark.usefixtures("tampered")
def test_a_changed_entry_is_named_by_its_request(ended: Task) -> None:
    ContextEntry.objects.filter(seq=1).update(content="Something else.")
    assert "other bytes" in rerun(ended).divergence


@pytest.mark.usefixtures("tampered")
def test_the_command_reports_a_divergence_with_status_1(ended: Task) -> None:
    out = StringIO()
    call_command("replay", str(ended.pk), "--rerun", stdout=out, no_color=True)
    assert "No divergence." in out.getvalue()
    Blob.objects.all().delete()
    with pytest.raises(SystemExit):
        call_command("replay", str(ended.pk), "--rerun", stdout=out, no_color=True)
