"""The header `Idempotency-Key`: repeated requests run once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from tasks_app import services
from tasks_app.models import ContextEntry, IdempotencyKey, Session, Task
from tests.tasks_app.api.conftest import Program

KEY = {"Idempotency-Key": "9f2c"}


@pytest.fixture
def send(alices, session):
    return lambda body, **headers: alices.call("POST", f"sessions/{session.pk}/messages/", body, **{**KEY, **headers})


def test_same_key_returns_the_same_response_and_starts_once(send):
    first, second = send({"content": "Go"}), send({"content": "Go"})
    assert (first.status_code, first.json()["delivered_as"]) == (202, "started")
    assert (second.status_code, second.json()) == (202, first.json())
    assert (Task.objects.count(), ContextEntry.objects.count()) == (1, 1)


def test_other_keys_are_other_requests(send, alices, session):
    send({"content": "Go"})
    assert send({"content": "Go"}, **{"Idempotency-Key": "other"}).json()["delivered_as"] == "interjected"
    without = alices.call("POST", f"sessions/{session.pk}/messages/", {"content": "Go"})
    assert without.json()["delivered_as"] == "interjected"


def test_same_key_with_another_body_is_422(send):
    send({"content": "Go"})
    answer = send({"content": "Stay"})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["Idempotency-Key"])
    assert ContextEntry.objects.count() == 1


def test_same_key_for_another_address_is_422(send, alices, task):
    send({"content": "Go"})
    assert alices.call("POST", f"tasks/{task.pk}/stop/", {"content": "Go"}, **KEY).status_code == 422
    task.refresh_from_db()
    assert task.stop_requested_at is None


def test_refusals_are_stored(alices, asking):
    """A refused late reply must not answer the next question when it is sent again."""
    Task.objects.filter(pk=asking.pk).update(waiting_for=None)
    path, body = f"tasks/{asking.pk}/reply/", {"content": "Blue"}
    refused = alices.call("POST", path, body, **KEY)
    Task.objects.filter(pk=asking.pk).update(waiting_for="reply")
    again = alices.call("POST", path, body, **KEY)
    assert (refused.status_code, again.status_code) == (409, 409)
    assert (again.json(), again["Content-Type"]) == (refused.json(), "application/problem+json")


def test_repeated_decision_is_no_conflict(alices, approving):
    path, body = f"tasks/{approving.pk}/approval/", {"decision": "approve"}
    first, second = alices.call("POST", path, body, **KEY), alices.call("POST", path, body, **KEY)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()


def test_keys_belong_to_one_user(send, program, carol, session, task):
    send({"content": "Go"})
    answer = program(carol).call("POST", f"sessions/{session.pk}/messages/", {"content": "Other"}, **KEY)
    assert answer.status_code == 202


def test_keys_expire_after_24_hours(alices):
    first = alices.call("POST", "sessions/", {"title": "a"}, **KEY).json()
    with time_machine.travel(timezone.now() + timedelta(hours=23)):
        assert alices.call("POST", "sessions/", {"title": "a"}, **KEY).json() == first
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        assert alices.call("POST", "sessions/", {"title": "b"}, **KEY).json()["title"] == "b"
    assert IdempotencyKey.objects.count() == 1


def test_request_can_be_repeated_after_a_server_error(send, monkeypatch):
    post = services.post_message

    def fail_after_the_work(*args, **kwargs):
        post(*args, **kwargs)
        raise RuntimeError()

    with monkeypatch.context() as patched:
        patched.setattr(services, "post_message", fail_after_the_work)
        assert send({"content": "Go"}).status_code == 500
    assert not Task.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert send({"content": "Go"}).status_code == 202


@pytest.mark.parametrize("key", ["", "k" * 256, "a\0b"])
def test_invalid_key_is_422(key, send):
    assert send({"content": "Go"}, **{"Idempotency-Key": key}).status_code == 422
    assert not Task.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_do_the_work_once(alice):
    programs = [Program(alice) for _ in range(8)]
    together = threading.Barrier(len(programs))

    def post(program):
        together.wait()
        try:
            answer = program.call("POST", "sessions/", {"title": "One"}, **KEY)
            return answer.status_code, answer.json()["id"]
        finally:
            connection.close()

    with ThreadPoolExecutor(len(programs)) as threads:
        answers = set(threads.map(post, programs))
    assert answers == {(201, str(Session.objects.get().pk))}


@pytest.mark.django_db(transaction=True)
def test_second_request_waits_for_the_first(alice, monkeypatch):
    """The first request pauses in the middle of its work until the second is blocked."""
    create, began, may_end = services.create_session, threading.Event(), threading.Event()

    def slowly(*args, **kwargs):
        began.set()
        assert may_end.wait(30)
        return create(*args, **kwargs)

    monkeypatch.setattr(services, "create_session", slowly)
    first, second = Program(alice), Program(alice)

    def post(program):
        try:
            return program.call("POST", "sessions/", {}, **KEY).json()["id"]
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(post, first)
        assert began.wait(30)
        two = threads.submit(post, second)
        with pytest.raises(TimeoutError):
            two.result(0.1)
        may_end.set()
        assert one.result(30) == two.result(30)
    assert Session.objects.count() == 1
