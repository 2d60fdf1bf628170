"""Servers of background commands that do not answer: the reason, the command, and the message that starts them again."""

import json
from typing import Any

import pytest
from django.utils import timezone

from tasks_app.models import ContextEntry, InboxMessage, Session, Task, TaskState
from tasks_app.runtime import process
from tasks_app.services import servers
from tools_app import held_resources

pytestmark = pytest.mark.django_db(transaction=True)

SERVE = "cd app && python3 -m http.server 8123"
RUNS = "Serving HTTP\n[job 1 is running; read it, write to it or kill it with the tool job]"
IDLE = "Its command ended: the session was not used for half an hour, or this site was restarted."


@pytest.fixture
def started(called: Any) -> list[ContextEntry]:
    arguments = json.dumps({"command": SERVE, "background": True})
    return list(called("shell", arguments, RUNS, job=1, ports=[8123]))


def reason(session: Session) -> str:
    session.refresh_from_db()
    stopped = servers.stopped_server(session, 8123)
    assert stopped.command == SERVE
    return stopped.reason


def test_port_without_a_command_has_nothing_to_start(session: Session, alice: Any) -> None:
    stopped = servers.stopped_server(session, 8123)
    assert (stopped.command, stopped.reason) == (
        "",
        "No background command of this session is known to serve port 8123.",
    )
    with pytest.raises(servers.NoServerCommand):
        servers.start_again(session, alice, 8123)
    assert not InboxMessage.objects.exists()


def test_reason_is_found_in_the_record(started: Any, called: Any, session: Session) -> None:
    assert reason(session) == IDLE
    called("job", '{"action": "read", "id": 1}', "bye\n[job 1 ended with exit code 1 after 2.0 s]")
    assert reason(session) == "Its command ended with exit code 1."
    called("job", '{"action": "read", "id": 11}', "[job 11 was ended]")
    assert reason(session) == "Its command ended with exit code 1."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Job 1 is gone: it was unused too long, or the server was restarted.", IDLE),
        ("Job 1 was killed after 86400 s.", "Its command was killed after 86400 s."),
    ],
)
def test_reason_is_found_in_a_reminder(
    started: Any,
    recorded: Any,
    session: Session,
    text: str,
    sentence: str,
) -> None:
    recorded("system_reminder", text)
    assert reason(session) == sentence


def test_reason_is_found_in_the_held_resources(started: Any, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Session.objects.filter(pk=session.pk)
    sessions.update(held={"job 1": "the background command 1"}, held_by=process.name())
    assert reason(session) == "Its command ended because the session was not used for half an hour."
    held_resources.hold(str(session.pk), "job 1", "the background command 1")
    assert reason(session) == "Its command was started, but nothing answers on port 8123."
    held_resources.release(str(session.pk), "job 1")
    sessions.update(held_by=f"{process.name()}-of-before")
    assert reason(session) == "This site was restarted, which ended its command."
    sessions.update(held={"ended job 1": "Job 1 ended with exit code 3 after 9.0 s."})
    assert reason(session) == "Its command ended with exit code 3."


def test_newest_command_of_the_port_counts(called: Any, session: Session) -> None:
    called("shell", '{"command": "old", "background": true}', "", job=1, ports=[8123])
    called("shell", json.dumps({"command": SERVE, "background": True}), "", job=2, ports=[])
    called("shell", '{"command": "other", "background": true}', "", job=3, ports=[9000])
    assert servers.stopped_server(session, 8123).command == SERVE, "its command line names the port"
    called("shell", '{"command": "slow", "background": true}', "", job=4, ports=[])
    called("job", '{"action": "read", "id": 4}', "", ports=[8123])
    assert servers.stopped_server(session, 8123).command == "slow", "its port was announced later"


def test_start_is_a_message_of_the_person(started: Any, session: Session, alice: Any) -> None:
    Task.objects.filter(session=session).update(
        state=TaskState.FAILED, failure_code="internal", ended_at=timezone.now()
    )
    delivered = servers.start_again(session, alice, 8123)
    assert delivered.delivered_as == "started"
    message = ContextEntry.objects.in_session(session).filter(context_type="user_message").last()
    assert message is not None
    assert message.content.startswith("Start the server on port 8123 again")
    assert f"\n{SERVE}\n" in message.content
    assert message.metadata["author"] == alice.username
    assert servers.start_again(session, alice, 8123).delivered_as == "queued", "it disturbs no running task"
