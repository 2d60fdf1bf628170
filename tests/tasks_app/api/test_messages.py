"""Messages over REST: their delivery and their validation."""

import pytest

from tasks_app.models import ContextEntry, InboxMessage, Task
from tasks_app.workspace.folders import workspace_of
from tests.pictures import picture


@pytest.fixture
def send(alices, session):
    return lambda body, **headers: alices.call("POST", f"sessions/{session.pk}/messages/", body, **headers)


def test_first_message_starts_a_task(send, session, alices):
    answer = send({"content": "Hello"})
    assert (answer.status_code, answer.json()["delivered_as"]) == (202, "started")
    task = alices.call("GET", f"tasks/{answer.json()['task']}/").json()
    assert (task["session"], task["state"]) == (str(session.pk), "initializing")
    assert ContextEntry.objects.get(session=session).content == "Hello"


def test_first_message_gives_the_session_its_title(send, session):
    send({"content": "  Sort\nmy photos  "})
    session.refresh_from_db()
    assert session.title == "Sort my photos"


def test_message_interjects_in_a_running_task(send, task):
    assert send({"content": "Wait!"}).json() == {"task": str(task.pk), "delivered_as": "interjected"}


def test_queued_message_has_no_task(send, task):
    assert send({"content": "Later", "mode": "queue"}).json() == {"task": None, "delivered_as": "queued"}
    assert InboxMessage.objects.get().mode == "queue"


def test_message_steers_the_running_task(send, task):
    assert send({"content": "And this.", "mode": "steer"}).json() == {"task": str(task.pk), "delivered_as": "steered"}


@pytest.fixture
def waiting(send, task, session):
    """Return the address of a waiting message."""
    send({"content": "Later", "mode": "queue"})
    return f"sessions/{session.pk}/messages/{InboxMessage.objects.get().pk}/"


def test_waiting_messages_are_listed(alices, session, waiting):
    (message,) = alices.call("GET", f"sessions/{session.pk}/messages/").json()["results"]
    assert (message["author"], message["mode"], message["content"]) == ("alice", "queue", "Later")


def test_waiting_message_is_changed(alices, waiting):
    answer = alices.call("PATCH", waiting, {"content": "Sooner"})
    assert (answer.status_code, answer.json()["content"]) == (200, "Sooner")
    assert InboxMessage.objects.get().content == "Sooner"
    assert alices.call("PATCH", waiting, {"content": " "}).status_code == 422


def test_waiting_message_is_removed_once(alices, waiting):
    assert alices.call("DELETE", waiting).status_code == 204
    assert alices.call("DELETE", waiting).status_code == 409


def test_only_the_author_can_change_a_message(program, carol, waiting):
    assert program(carol).call("PATCH", waiting, {"content": "Mine"}).status_code == 409
    assert InboxMessage.objects.get().content == "Later"


def test_message_answers_the_waiting_question(send, asking):
    assert send({"content": "Red"}).json() == {"task": str(asking.pk), "delivered_as": "reply"}
    assert ContextEntry.objects.get(tool_call_id="call_1").content == "Red"


def test_text_is_stored_unchanged(send, session):
    text = "  two  spaces\n\n\tand “quotes” 🦊 \u2028 "
    send({"content": text})
    assert ContextEntry.objects.get(session=session).content == text


def test_files_are_attached_by_path(send, session):
    workspace_of(session).write_bytes("in/data.csv", b"1,2")
    assert send({"content": "", "attachments": ["in/data.csv"]}).status_code == 202
    assert ContextEntry.objects.get(session=session).metadata["attachments"] == ["in/data.csv"]


def test_output_schema_is_stored_with_the_task(send, alices):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    answer = send({"content": "Count.", "output_schema": schema}).json()
    assert alices.call("GET", f"tasks/{answer['task']}/").json()["output_schema"] == schema


def test_invalid_output_schema_is_refused(send):
    answer = send({"content": "Count.", "output_schema": {"type": "numbr"}})
    assert answer.status_code == 422
    assert "no JSON Schema" in answer.json()["errors"]["output_schema"][0]


def test_output_schema_for_a_running_task_is_refused(send, task):
    answer = send({"content": "Count.", "output_schema": {"type": "integer"}})
    assert (answer.status_code, "queue" in answer.json()["detail"]) == (409, True)
    assert send({"content": "Count.", "output_schema": {"type": "integer"}, "mode": "queue"}).status_code == 202


def test_attached_picture_is_in_the_entry(send, session, alices):
    workspace_of(session).write_bytes("photo.png", picture(4000, 1000))
    assert send({"content": "Look.", "attachments": ["photo.png"]}).status_code == 202
    (entry,) = alices.call("GET", f"sessions/{session.pk}/entries/").json()["results"]
    (image,) = entry["images"]
    assert len(image.pop("sha256")) == 64
    assert image == {"media_type": "image/png", "path": "photo.png", "width": 1568, "height": 392}


def test_text_is_limited_to_one_mebibyte(send):
    assert send({"content": "é" * (512 * 1024)}).status_code == 202
    answer = send({"content": "é" * (512 * 1024) + "x"})
    assert (answer.status_code, answer.json()["title"]) == (413, "Request Entity Too Large")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": None}, "content"),
        ({"content": 5}, "content"),
        ({"content": True}, "content"),
        ({"content": ["a"]}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"content": "a", "mode": "now"}, "mode"),
        ({"content": "a", "mode": None}, "mode"),
        ({"content": "a", "attachments": "notes.txt"}, "attachments"),
        ({"content": "a", "attachments": [1]}, "attachments"),
        ({"content": "a", "attachments": ["missing.txt"]}, "attachments"),
        ({"content": "a", "attachments": ["../../etc/passwd"]}, "attachments"),
        ({"content": "a", "attachments": ["x"] * 101}, "attachments"),
        ({"content": "a", "workflow": "review"}, "workflow"),
        ({"content": "a", "workflow": {}}, "workflow"),
        ([], "non_field_errors"),
        ("content", "non_field_errors"),
    ],
)
def test_invalid_field_is_named_and_starts_nothing(body, field, send):
    answer = send(body)
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert list(answer.json()["errors"]) == [field]
    assert not Task.objects.exists()
    assert not InboxMessage.objects.exists()


def test_nullable_fields_accept_null(send):
    assert send({"content": "a", "workflow": None, "attachments": []}).status_code == 202
