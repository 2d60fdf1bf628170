"""Admission of tasks: the number that runs concurrently, and the order of the queue."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tasks_app import services
from tasks_app.models import InboxMessage, Session, Task
from tasks_app.runtime import admission, lease, wakeup
from tests import factories


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tasks that were woken."""
    told: list[Any] = []
    monkeypatch.setattr(admission, "enqueue", told.append)
    return told


@pytest.fixture
def limits(settings: Any) -> Callable[[int, int], None]:
    def set_them(running: int, per_user: int) -> None:
        settings.MAX_RUNNING, settings.MAX_RUNNING_PER_USER = running, per_user

    return set_them


def queued(person: Any, count: int = 1, **fields: Any) -> list[Task]:
    return [factories.TaskFactory(session__owner=person, **fields) for _ in range(count)]


def running() -> int:
    return Task.objects.running().count()


def admitted(tasks: list[Task]) -> list[bool]:
    return [bool(Task.objects.get(pk=task.pk).admitted_at) for task in tasks]


def position(task: Task) -> int | None:
    admission._positions(is_fresh=True)
    return admission.position_of(Task.objects.get(pk=task.pk))


def end(task: Task) -> None:
    failure = {"state": "failed", "failure_code": "internal"}
    Task.objects.filter(pk=task.pk).update(ended_at=timezone.now(), **failure)


def test_tasks_beyond_the_limit_have_a_queue_position(alice: Any, limits: Any) -> None:
    limits(3, 10)
    tasks = queued(alice, 5)
    admission.admit()
    assert admitted(tasks) == [True, True, True, False, False]
    assert [position(task) for task in tasks] == [None, None, None, 1, 2]


def test_admissible_task_has_no_queue_position(alice: Any, limits: Any) -> None:
    limits(3, 10)
    assert position(*queued(alice)) is None


def test_free_slot_admits_the_next_task_immediately(alice: Any, limits: Any, woken: Any) -> None:
    limits(1, 10)
    first, second, _ = queued(alice, 3)
    admission.admit()
    end(first)
    admission.admit()
    assert woken == [first.pk, second.pk]


def test_admission_alternates_between_users(alice: Any, bob: Any, carol: Any, limits: Any) -> None:
    limits(1, 10)
    flood, (bobs,), (carols,) = queued(alice, 4), queued(bob), queued(carol)
    order = [flood[0], bobs, carols, *flood[1:]]
    for task in order:
        admission.admit()
        assert admitted([task]) == [True]
        end(task)


def test_users_with_fewer_running_tasks_come_first(alice: Any, bob: Any, limits: Any) -> None:
    limits(3, 10)
    flood = queued(alice, 5)
    admission.admit()
    queued(bob, 2)
    end(flood[0])
    admission.admit()
    assert Task.objects.running().filter(started_by=bob).count() == 1


def test_user_limit_caps_running_tasks(alice: Any, bob: Any, limits: Any) -> None:
    limits(10, 2)
    flood, bobs = queued(alice, 5), queued(bob, 1)
    admission.admit()
    assert admitted([*flood, *bobs]) == [True, True, False, False, False, True]
    assert [position(task) for task in flood[2:]] == [1, 2, 3]


def test_resumed_tasks_come_first(alice: Any, bob: Any, limits: Any) -> None:
    limits(1, 10)
    (new,) = queued(alice)
    (resumed,) = queued(bob, state="executing_tool")
    admission.admit()
    assert admitted([new, resumed]) == [False, True]


def test_queued_task_is_not_claimed(alice: Any, limits: Any) -> None:
    limits(1, 10)
    first, second = queued(alice, 2)
    admission.admit()
    assert (lease.claim(second.pk), lease.claim(first.pk)) == (None, first)


def test_task_to_be_stopped_is_not_queued(alice: Any, limits: Any) -> None:
    limits(1, 10)
    _, second = queued(alice, 2)
    admission.admit()
    services.stop(second)
    assert lease.claim(second.pk) == second


def test_stop_wakes_a_queued_task_immediately(
    alice: Any, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(wakeup, "enqueue", told.append)
    (task,) = queued(alice)
    with django_capture_on_commit_callbacks(execute=True):
        services.stop(task)
    assert told == [task.pk]


def test_terminal_task_is_never_queued(alice: Any, limits: Any) -> None:
    limits(1, 10)
    queued(alice, 1)
    (own,) = queued(alice, 1, terminal="here")
    admission.admit()
    assert (running(), position(own)) == (1, None)


@pytest.mark.django_db(transaction=True)
def test_concurrent_admissions_respect_the_limit(limits: Any) -> None:
    limits(5, 3)
    people = [factories.UserFactory() for _ in range(3)]
    tasks = [task for person in people for task in queued(person, 6)]

    def work(task: Task) -> None:
        admission.admit(here=task.pk)
        connection.close()

    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert running() == 5


class TestFullQueue:
    def test_full_queue_refuses_and_stores_nothing(self, session: Any, alice: Any, limits: Any) -> None:
        limits(1, 10)
        queued(alice, 10)
        with pytest.raises(admission.QueueFull):
            services.post_message(session, alice, "Hello")
        assert [session.entries.count(), session.tasks.count(), InboxMessage.objects.count()] == [0, 0, 0]

    def test_full_queue_of_one_user_does_not_block_others(
        self, session: Any, alice: Any, bob: Any, limits: Any
    ) -> None:
        limits(1, 10)
        queued(bob, 10)
        assert services.post_message(session, alice, "Hello").delivered_as == "started"
        with pytest.raises(admission.QueueFull):
            services.post_message(factories.SessionFactory(owner=alice), alice, "And more")

    def test_full_disk_refuses_tasks_and_files(self, session: Any, alice: Any, settings: Any, client: Any) -> None:
        settings.LEAST_FREE_DISK = 2**80
        client.force_login(alice)
        sent = client.post(
            f"/api/v1/sessions/{session.pk}/messages/", {"content": "Hi"}, content_type="application/json"
        )
        file = client.post(f"/api/v1/sessions/{session.pk}/files/a.txt", b"x", content_type="text/plain")
        assert {(answer.status_code, answer.headers.get("Retry-After")) for answer in (sent, file)} == {(503, "60")}
        assert "disk is nearly full" in sent.json()["detail"]
        assert session.tasks.count() == 0

    def test_rest_sends_retry_after_and_accepts_the_key_later(
        self, session: Any, alice: Any, limits: Any, client: Any
    ) -> None:
        limits(1, 10)
        waiting = queued(alice, 10)
        client.force_login(alice)

        def send() -> Any:
            address = f"/api/v1/sessions/{session.pk}/messages/"
            body = {"content": "Hello"}
            return client.post(address, body, content_type="application/json", headers={"Idempotency-Key": "k"})

        answer = send()
        assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
        assert int(answer["Retry-After"]) > 0
        end(waiting[0])
        assert send().status_code == 202

    def test_home_page_shows_a_notice_and_stores_no_session(self, alice: Any, limits: Any, client: Any) -> None:
        limits(1, 10)
        queued(alice, 10)
        client.force_login(alice)
        sessions = Session.objects.count()
        answer = client.post("/", {"content": "Hello"}, headers={"HX-Request": "true"})
        assert (answer.status_code, Session.objects.count()) == (503, sessions)
        assert "toast bad" in answer.content.decode()


def test_queue_position_is_in_rest_and_on_the_page(alice: Any, limits: Any, client: Any) -> None:
    limits(1, 10)
    *_, last = queued(alice, 3)
    admission.admit()
    client.force_login(alice)
    assert client.get(f"/api/v1/tasks/{last.pk}/").json()["queue_position"] == 2
    page = client.get(f"/s/{last.session_id}/").content.decode()
    assert "<strong>number 2</strong> in the queue" in page
    assert "Queued" in page
    services.stop(last)
    assert "in the queue" not in client.get(f"/s/{last.session_id}/queue/").content.decode()
