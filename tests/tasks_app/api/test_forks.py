"""A fork over REST: a session of the user's own, once for one key."""

from typing import Any

from tasks_app.models import Session, Task


def test_it_answers_with_the_new_session(task: Task, alices: Any) -> None:
    response = alices.call("POST", f"tasks/{task.id}/fork/", {"seq": 1})
    assert response.status_code == 201
    body = response.json()
    assert (body["parent"], body["parent_seq"], body["owner"]) == (str(task.session_id), 1, "alice")
    copied = alices.call("GET", f"sessions/{body['id']}/entries/").json()["results"]
    assert copied[0]["content"] == "Please."
    assert copied[0]["task"] == body["task"]["id"]
    assert body["task"]["state"] == "failed"


def test_a_reader_forks_what_is_shared_with_them(task: Task, program: Any, bob: Any, charlie: Any) -> None:
    response = program(bob).call("POST", f"tasks/{task.id}/fork/", {"seq": 1})
    assert response.json()["owner"] == "bob"
    assert program(charlie).call("POST", f"tasks/{task.id}/fork/", {"seq": 1}).status_code == 404


def test_the_entry_must_exist(task: Task, alices: Any) -> None:
    for body in ({"seq": 2}, {"seq": 0}, {"seq": "x"}, {}):
        response = alices.call("POST", f"tasks/{task.id}/fork/", body)
        assert response.status_code == 422
        assert "seq" in response.json()["errors"]
    assert Session.objects.count() == 1


def test_one_key_makes_one_fork(task: Task, alices: Any) -> None:
    answers = [
        alices.call("POST", f"tasks/{task.id}/fork/", {"seq": 1}, **{"Idempotency-Key": "k"}).json() for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert Session.objects.count() == 2
