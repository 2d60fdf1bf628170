"""Calls that a person must approve: bound to the exact call, decided once, used once."""

import pytest
from django.utils import timezone

from llm_app.models import Blob, LLMLog
from tasks_app import services
from tasks_app.models import Approval, ToolCallLog
from tasks_app.models.errors import NothingToAnswer
from tasks_app.worker import reaper
from tests.tasks_app.engine.conftest import call, result
from tools_app.models import ToolSetting

WRITE = call("file", action="write", path="a.txt", content="x")


@pytest.fixture(autouse=True)
def _file_needs_approval(transactional_db):
    ToolSetting.objects.create(name="file", approval="always")


def test_the_call_waits_and_runs_when_approved(play, owner):
    run = play(WRITE, result())
    task = run.advance()
    assert (task.state, task.waiting_for) == ("executing_tool", "approval")
    services.decide(task, owner, "approved")
    assert run.advance().state == "done"
    assert run.results()[0][0] == "succeeded"
    assert "Approved by olga" in run.results()[0][1]


def test_the_wait_survives_a_restart(play, owner):
    run = play(WRITE, result())
    run.advance()
    reaper.start()
    run.advance()
    assert run.task.waiting_for == "approval"


def test_a_rejection_is_the_result_with_the_persons_words(play, owner):
    run = play(WRITE, result())
    task = run.advance()
    services.decide(task, owner, "rejected", note="wrong file")
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "rejected"
    assert "wrong file" in content
    assert not (task.session.workspace_path / "a.txt").exists()


def test_a_second_answer_is_refused(play, owner):
    task = play(WRITE, result()).advance()
    services.decide(task, owner, "approved")
    with pytest.raises(NothingToAnswer):
        services.decide(task, owner, "rejected")


def test_an_approval_is_valid_for_one_call(play, owner):
    run = play(WRITE, WRITE, result())
    services.decide(run.advance(), owner, "approved")
    assert run.advance().waiting_for == "approval"
    assert Approval.objects.filter(consumed_at__isnull=False).count() == 1


def test_an_approval_for_the_task_covers_later_calls(play, owner):
    run = play(WRITE, call("file", action="write", path="b.txt", content="y"), result())
    services.decide(run.advance(), owner, "approved", scope="task")
    assert run.advance().state == "done"
    assert "Approved for this task by olga" in run.results()[1][1]


def test_a_message_instead_of_a_decision_closes_the_approval(play, owner):
    run = play(WRITE, result())
    task = run.advance()
    assert services.post_message(task.session, owner, "Leave it.").delivered_as == "interjected"
    assert run.advance().state == "done"
    assert run.results()[0] == ("rejected", "Not run: the user wrote a message instead.")
    assert run.types[2:5] == ["tool_call", "tool_result", "user_message"]
    with pytest.raises(NothingToAnswer):
        services.decide(task, owner, "approved")


def test_a_tool_that_is_switched_off_while_its_approval_waits_is_refused(play, owner):
    run = play(WRITE, result())
    task = run.advance()
    ToolSetting.objects.filter(name="file").update(enabled=False)
    services.decide(task, owner, "approved")
    assert run.advance().state == "done"
    assert run.results()[0][0] == "blocked"


def test_stop_while_an_approval_waits(play, owner):
    run = play(WRITE, result())
    services.stop(run.advance())
    assert run.advance().stopped
    assert run.results()[0][0] == "rejected"


def test_an_approval_of_a_different_call_is_requested_again(play, owner):
    run = play(WRITE, result())
    services.decide(run.advance(), owner, "approved")
    Approval.objects.update(fingerprint="0" * 64)
    assert run.advance().waiting_for == "approval"
    assert run.results() == []
    assert Approval.objects.get().decision == "pending"
    services.decide(run.task, owner, "approved")
    assert run.advance().state == "done"


@pytest.mark.parametrize(("path", "expected"), [("a.txt", "unknown"), (".", "succeeded")])
def test_a_crash_after_the_approval_does_not_ask_again(path, expected, play, owner):
    """A safe call runs again with its approval. Of another call, the outcome is unknown."""
    run = play(WRITE if path == "a.txt" else call("file", action="list", path=path), result())
    services.decide(run.advance(), owner, "approved")
    Approval.objects.update(consumed_at=timezone.now())
    ToolCallLog.objects.update(status="started")
    assert run.advance().state == "done"
    assert run.results()[0][0] == expected


def test_an_approval_for_the_task_covers_the_commands_that_it_names(play, owner):
    commands = ["git push --force", "git push -f origin main", "git push --force; reboot"]
    run = play(*[call("shell", command=command) for command in commands], result())
    run.advance()
    approval = Approval.objects.get()
    assert (approval.reason, approval.covers) == ("overwrites or deletes what a remote repository has", "git push")
    services.decide(run.task, owner, "approved", scope="task")
    assert run.advance().waiting_for == "approval"
    assert "Approved for this task by olga" in run.results()[1][1]
    assert Approval.objects.first().covers == "git push, reboot"


def test_a_rejection_names_its_rule(play, owner):
    run = play(call("shell", command="git push --force"), result())
    services.decide(run.advance(), owner, "rejected", note="not now")
    run.advance()
    rule = "Rule: overwrites or deletes what a remote repository has."
    assert run.results()[0] == ("rejected", f"Not run: olga rejected this call. {rule} They say: not now")


def test_temporary_files_of_the_sandbox_are_deleted_without_a_question(play):
    run = play(call("shell", command="mkdir /tmp/x; cd /tmp && rm -rf x ~/absent"), result())
    assert run.advance().state == "done"


def _tools_of(run):
    return Blob.objects.get(pk=LLMLog.objects.filter(task_id=run.task.pk).latest("pk").tools_blob).content


def test_model_reads_what_asks_only_while_commands_can_ask(play):
    sentence = "Losing files or git work for good asks a person."
    run = play(result())
    run.advance()
    assert sentence in _tools_of(run)
    ToolSetting.objects.create(name="shell", approval="never")
    later = play(result())
    later.advance()
    assert sentence not in _tools_of(later)
