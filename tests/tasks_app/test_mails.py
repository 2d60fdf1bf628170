"""Mails about tasks: sent once to people who asked for them, and again after a failure of the mail server."""

import pytest
from django.utils import timezone

from tasks_app.models import Task, TaskState, WaitingFor
from tasks_app.worker import mails
from tests.tasks_app.api.conftest import task

__all__ = ["task"]


@pytest.fixture
def subjects(mailoutbox):
    def sent():
        mails.send_due()
        told = [(mail.to, mail.subject) for mail in mailoutbox]
        mailoutbox.clear()
        return told

    return sent


def waits(task: Task, iteration: int) -> None:
    Task.objects.filter(pk=task.pk).update(
        state=TaskState.EXECUTING_TOOL, waiting_for=WaitingFor.REPLY, iteration=iteration
    )


def test_one_mail_per_wait(task, alice, subjects):
    waits(task, 1)
    assert subjects() == []
    alice.mails, alice.email = ["waiting"], "alice@example.org"
    alice.save()
    assert subjects() == [(["alice@example.org"], f"“{task.session}” waits for you")]
    assert subjects() == []
    waits(task, 4)
    assert len(subjects()) == 1
    ended = {"state": TaskState.DONE, "waiting_for": None, "final_result": {}, "ended_at": timezone.now()}
    Task.objects.filter(pk=task.pk).update(**ended)
    assert subjects() == []


def test_no_mail_after_access_was_revoked(task, bob, subjects):
    bob.mails, bob.email = ["waiting"], "bob@example.org"
    bob.save()
    waits(task, 1)
    Task.objects.update(started_by=bob)
    task.session.memberships.filter(user=bob).delete()
    assert subjects() == []


def test_failed_mail_is_sent_again(task, alice, subjects, settings):
    alice.mails, alice.email = ["waiting"], "alice@example.org"
    alice.save()
    waits(task, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mails, "send_mail", _refuse)
        assert subjects() == []
    assert len(subjects()) == 1


def _refuse(*_):
    raise ConnectionRefusedError
