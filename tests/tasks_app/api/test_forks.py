"""Forks over REST, and their idempotency keys."""

from typing import Any

import pytest
from django.db import connection

from tasks_app.models import ContextEntry, Session, Task
from tasks_app.record import notice
from tasks_app.services import forks
from tests import factories
from tools_app.files import workspace_copy


def test_fork_returns_the_new_session(task: Task, alices: Any) -> None:
    response = alices.call("POST", f"tasks/{task.id}/fork/", {"seq": 1})
    assert response.status_code == 201
    body = response.json()
    assert (body["parent"], body["parent_seq"], body["owner"]) == (str(task.session_id), 1, "alice")
    copied = alices.call("GET", f"sessions/{body['id']}/entries/").json()["results"]
    assert copied[0]["content"] == "Please."
    assert copied[0]["task"] == body["task"]["id"]
    cut_off = alices.call("GET", f"tasks/{body['task']['id']}/").json()
    shown = ("state", "stopped", "failure", "final_result")
    assert [cut_off[name] for name in shown] == ["done", True, None, None]
    assert alices.call("GET", "tasks/?state=failed").json()["results"] == []


def test_reader_can_fork_a_shared_session(task: Task, program: Any, bob: Any, charlie: Any) -> None:
    response = program(bob).call("POST", f"tasks/{task.id}/fork/", {"seq": 1})
    assert response.json()["owner"] == "bob"
    assert program(charlie).call("POST", f"tasks/{task.id}/fork/", {"seq": 1}).status_code == 404


def test_fork_requires_an_existing_entry(task: Task, alices: Any) -> None:
    for body in ({"seq": 2}, {"seq": 0}, {"seq": "x"}, {}):
        response = alices.call("POST", f"tasks/{task.id}/fork/", body)
        assert response.status_code == 422
        assert "seq" in response.json()["errors"]
    assert Session.objects.count() == 1


def test_same_key_creates_one_fork(task: Task, alices: Any) -> None:
    answers = [
        alices.call("POST", f"tasks/{task.id}/fork/", {"seq": 1}, **{"Idempotency-Key": "k"}).json() for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert Session.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_files_are_copied_outside_transactions_and_once_per_key(task: Task, alices: Any, monkeypatch: Any) -> None:
    copied = []
    original = workspace_copy.copy

    def seen(*workspaces: Any) -> int:
        copied.append(connection.in_atomic_block)
        return original(*workspaces)

    monkeypatch.setattr(workspace_copy, "copy", seen)
    answers = [alices.call("POST", f"tasks/{task.id}/fork/", {"seq": 1}, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert copied == [False]


def test_key_of_another_request_creates_no_fork(task: Task, alices: Any) -> None:
    key = {"Idempotency-Key": "k"}
    alices.call("POST", f"tasks/{task.id}/stop/", {}, **key)
    assert alices.call("POST", f"tasks/{task.id}/fork/", {"seq": 1}, **key).status_code == 422
    assert Session.objects.count() == 1


def test_concurrent_fork_with_the_same_key_leaves_no_files(task: Task, alices: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("tasks_app.api.transfer.stored_response", _none_yet)
    before = _folders(task) | {task.session.workspace_path}
    path, key = f"tasks/{task.id}/fork/", {"Idempotency-Key": "k"}
    first, second = (alices.call("POST", path, {"seq": 1}, **key).json() for _ in range(2))
    assert first == second
    assert _folders(task) - before == {Session.objects.get(pk=first["id"]).workspace_path}


def _folders(task: Task) -> set[Any]:
    """Return the workspace folders of all sessions."""
    parent = task.session.workspace_path.parent
    return set(parent.iterdir()) if parent.exists() else set()


def _none_yet(request: Any) -> None:
    """Find no stored response, as while the other request runs. Read the body, as the original does before parsing."""
    assert request.body


@pytest.mark.django_db(transaction=True)
def test_task_with_five_thousand_entries_is_forked() -> None:
    """A statement of PostgreSQL has at most 65,535 parameters."""
    task = factories.TaskFactory(state="thinking")
    for _ in range(5):
        factories.append(task, *[notice("Said.")] * 1000)
    copy = forks.fork(task.session, 5000, task.started_by)
    assert ContextEntry.objects.filter(session=copy).count() > 5000
