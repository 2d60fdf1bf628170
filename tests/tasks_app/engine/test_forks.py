"""Forks: the record up to an entry and a copy of the files, in an independent session."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group

from llm_app.models import LLMLog, Secret
from llm_app.types import Thinking, ToolCall
from tasks_app import services
from tasks_app.models import ContextEntry, ContextType, Session, Task
from tasks_app.models.errors import MessageTooLong
from tasks_app.record import Draft
from tasks_app.replay.verification import of_everything, of_session
from tasks_app.services import forks
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.pictures import picture
from tests.tasks_app.engine.conftest import Run, call, result, script

SECRET = "s3cr3t-abcdefgh-1234"


def entries(session: Session) -> list[ContextEntry]:
    return list(ContextEntry.objects.in_session(session))


def seen(session: Session) -> list[tuple[str, str, str]]:
    return [(e.context_type, e.content, e.tool_call) for e in entries(session) if e.in_context]


@pytest.fixture
def ended(play: Callable[..., Run]) -> Session:
    """A task that has written a file and given a result."""
    run = play(call("file", action="write", path="a.txt", content="one"), result("It is written."))
    assert run.advance().state == "done"
    return run.task.session


def test_a_fork_has_the_entries_under_their_numbers(ended: Session, owner: Any) -> None:
    for seq in (1, 4, 6):
        fork = forks.fork(ended, seq, owner)
        fork.refresh_from_db()
        assert seen(fork)[:seq] == seen(ended)[:seq]
        assert (fork.parent, fork.parent_seq, fork.owner) == (ended, seq, owner)
        assert [e.seq for e in entries(fork)] == list(range(1, fork.last_seq + 1))
        assert of_session(fork).is_whole


def test_nothing_of_the_origin_changes(ended: Session, owner: Any) -> None:
    rows = list(ContextEntry.objects.in_session(ended).values())
    fork = forks.fork(ended, 4, owner)
    services.post_message(fork, owner, script(result("Another way.")))
    (task,) = fork.tasks.active()
    assert Run(task).advance().state == "done"
    assert list(ContextEntry.objects.in_session(ended).values()) == rows
    assert all(findings.is_whole for findings in of_everything())


def test_an_open_call_is_closed_and_never_run(ended: Session, owner: Any) -> None:
    fork = forks.fork(ended, 3, owner)  # the call of `file`, whose result is entry 4
    closing = entries(fork)[3]
    assert (closing.context_type, closing.content) == ("tool_result", "Not run: forked here.")
    assert closing.metadata["status"] == "rejected"
    assert fork.tasks.get().is_cut_off
    assert not fork.tasks.get().tool_calls.exists()


def test_calls_deferred_after_a_closed_call_are_named(play: Callable[..., Run], owner: Any) -> None:
    calls = [call("plan", action="advance"), call("file", action="list")]
    run = play({"calls": calls}, result())
    run.advance()
    fork = forks.fork(run.task.session, 3, owner)
    assert entries(fork)[4].metadata["kind"] == "deferred"
    assert "file(" in entries(fork)[4].content


def test_a_waiting_task_can_be_forked_and_keeps_waiting(play: Callable[..., Run], owner: Any) -> None:
    run = play(call("message", type="ask", text="Which?"), result())
    assert run.advance().waiting_for == "reply"
    fork = forks.fork(run.task.session, 3, owner)
    run.task.refresh_from_db()
    assert run.task.waiting_for == "reply"
    assert not fork.tasks.active().exists()


def test_the_files_are_a_copy(ended: Session, owner: Any) -> None:
    fork = forks.fork(ended, 6, owner)
    workspace_of(fork).write_bytes("a.txt", b"two")
    assert workspace_of(ended).read_bytes("a.txt") == b"one"


def test_the_model_and_the_person_see_that_it_is_a_copy(ended: Session, owner: Any) -> None:
    reminder, said = entries(forks.fork(ended, 6, owner))[-2:]
    assert (reminder.context_type, reminder.metadata["kind"]) == ("system_reminder", "forked")
    assert (said.context_type, said.in_context) == ("status_notice", False)


def test_copied_tasks_are_ended_and_cost_nothing(ended: Session, owner: Any) -> None:
    task = forks.fork(ended, 6, owner).tasks.get()
    assert (task.state, task.final_result["text"]) == ("done", "It is written.")
    assert sum(task.usage.values()) == 0
    assert not LLMLog.objects.filter(session_id=task.session_id).exists()


def test_deleting_the_origin_keeps_the_fork(ended: Session, owner: Any) -> None:
    fork = forks.fork(ended, 6, owner)
    services.delete_session(ended)
    fork.refresh_from_db()
    assert fork.parent is None
    assert fork.parent_seq == 6
    assert workspace_of(fork).read_bytes("a.txt") == b"one"


def test_a_viewer_forks_into_a_session_of_their_own(ended: Session) -> None:
    bob = factories.UserFactory(username="bob")
    factories.MemberFactory(session=ended, user=bob)
    fork = forks.fork(ended, 6, bob)
    assert fork.owner == bob
    assert not Session.objects.visible_to(ended.owner).filter(pk=fork.pk).exists()


def test_a_model_that_its_owner_cannot_use_is_not_copied(ended: Session) -> None:
    ended.model.roles.add(Group.objects.create(name="chosen"))
    assert forks.fork(ended, 6, factories.UserFactory()).model is None


def test_secrets_of_the_origin_are_redacted_in_the_fork(owner: Any) -> None:
    session = factories.SessionFactory(owner=owner)
    task = factories.TaskFactory(session=session, state="thinking")
    made = ToolCall(id="call_1", name="shell", arguments=json.dumps({"command": f"curl {SECRET}"}))
    thinking = Thinking(text=SECRET, protocol="anthropic", model="m", blocks=({"thinking": SECRET, "signature": "s"},))
    factories.append(task, Draft(context_type=ContextType.USER_MESSAGE, content=f"It is {SECRET}."))
    factories.append(task, Draft(context_type=ContextType.TOOL_CALL, tool_call=made, thinking=thinking))
    Secret.objects.create(owner=owner, name="TOKEN", value=SECRET)
    fork = forks.fork(session, 2, factories.UserFactory())
    for entry in entries(fork):
        assert SECRET not in f"{entry.content}{entry.tool_call}{entry.thinking}{entry.metadata}"
    assert json.loads(entries(fork)[1].thinking)["blocks"] == []
    assert "[secret:TOKEN]" in entries(fork)[0].content


def test_pictures_are_copied(owner: Any, play: Callable[..., Run]) -> None:
    run = play(result())
    workspace_of(run.task.session).write_bytes("red.png", picture())
    services.post_message(run.task.session, owner, "Look.", attachments=["red.png"])
    run.advance()
    seq = next(e.seq for e in run.entries if e.images)
    fork = forks.fork(run.task.session, seq, owner)
    assert entries(fork)[seq - 1].images == run.entries[seq - 1].images


def test_a_fork_needs_an_existing_entry(ended: Session, owner: Any) -> None:
    with pytest.raises(forks.NoSuchEntry):
        forks.fork(ended, 99, owner)
    assert Session.objects.count() == 1


def test_a_failed_fork_leaves_neither_session_nor_files(
    ended: Session, owner: Any, settings: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tasks_app.services.forks._copy_record", lambda *args: 1 / 0)
    folders = set(workspace_of(ended).root.parent.iterdir())
    with pytest.raises(ZeroDivisionError):
        forks.fork(ended, 6, owner)
    assert Session.objects.count() == 1
    assert set(workspace_of(ended).root.parent.iterdir()) == folders


# --- the same message again -----------------------------------------------------------------------------------------


def test_a_message_is_sent_again_from_before_it(ended: Session, owner: Any) -> None:
    fork = forks.send_again(ended, 6, owner)
    (task,) = fork.tasks.active()
    assert [e.content for e in entries(fork)] == [entries(ended)[0].content]
    assert Run(task).advance().state == "done"


def test_a_message_is_edited_in_a_fork(ended: Session, owner: Any) -> None:
    services.post_message(ended, owner, script(result("First.")))
    Run(ended.tasks.active().get()).advance()
    (second,) = [e.seq for e in entries(ended) if "First." in e.content and e.context_type == "user_message"]
    fork = forks.send_again(ended, second, owner, script(result("Second.")))
    Run(fork.tasks.active().get()).advance()
    fork.refresh_from_db()
    assert fork.summary == "Second."
    assert fork.parent_seq == second - 1


def test_its_files_are_sent_again_too(ended: Session, owner: Any) -> None:
    services.post_message(ended, owner, f"Read it.{script(result())}", attachments=["a.txt"])
    Run(ended.tasks.active().get()).advance()
    fork = forks.send_again(ended, entries(ended)[-1].seq, owner)
    message = entries(fork)[-1]
    assert message.content.endswith("\n\n[attached file: a.txt]")
    assert message.content.count("[attached file") == 1


def test_the_schema_is_copied_with_the_message(play: Callable[..., Run], owner: Any) -> None:
    schema = {"type": "integer"}
    run = play(call("message", type="result", text="Three.", data=3), output_schema=schema)
    run.advance()
    fork = forks.send_again(run.task.session, run.entries[-1].seq, owner)
    assert json.loads(fork.tasks.active().get().output_schema) == schema


def test_a_message_that_is_refused_leaves_no_fork(ended: Session, owner: Any) -> None:
    folders = set(workspace_of(ended).root.parent.iterdir())
    with pytest.raises(MessageTooLong):
        forks.send_again(ended, 6, owner, "x" * 2**21)
    assert Session.objects.count() == 1
    assert set(workspace_of(ended).root.parent.iterdir()) == folders


def test_without_a_message_before_it_there_is_nothing_to_send(owner: Any) -> None:
    session = factories.SessionFactory(owner=owner)
    task: Task = factories.TaskFactory(session=session)
    factories.append(task, Draft(context_type=ContextType.SYSTEM_REMINDER, content="x"))
    with pytest.raises(forks.NoMessage):
        forks.send_again(session, 1, owner)
