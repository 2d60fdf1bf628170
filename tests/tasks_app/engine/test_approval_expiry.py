"""Approvals that nobody gives: they are rejected after a while, visibly, and the task continues."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tasks_app import services
from tasks_app.models import Approval, Limits
from tasks_app.models.errors import NothingToAnswer
from tasks_app.worker import reaper, supervisor
from tests.tasks_app.engine.conftest import call, result
from tools_app.models import ToolSetting

WRITE = call("file", action="write", path="a.txt", content="x")


@pytest.fixture
def waiting(play):
    ToolSetting.objects.create(name="file", approval="always")
    Limits.objects.create(pk=1, approval_hours=2)
    run = play(WRITE, result())
    run.advance()
    return run


def expire():
    Approval.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def test_approvals_expire_after_the_configured_time(waiting):
    left = Approval.objects.get().expires_at - timezone.now()
    assert timedelta(hours=1, minutes=55) < left <= timedelta(hours=2)
    reaper.close_expired()
    waiting.advance()
    assert waiting.task.waiting_for == "approval"


def test_an_expired_approval_is_rejected_and_the_task_continues(waiting):
    expire()
    reaper.close_expired()
    assert waiting.advance().state == "done"
    assert waiting.results()[0] == ("rejected", f"Not run: {reaper.NOBODY_CAME}")
    approval = Approval.objects.get()
    assert (approval.decision, approval.decided_by) == ("rejected", None)
    assert not (waiting.task.session.workspace_path / "a.txt").exists()


def test_expired_approvals_cannot_be_approved(waiting, owner):
    expire()
    with pytest.raises(NothingToAnswer):
        services.decide(waiting.task, owner, "approved")
    reaper.close_expired()
    assert waiting.advance().state == "done"


def test_decided_approvals_do_not_expire(waiting, owner):
    services.decide(waiting.task, owner, "approved")
    expire()
    reaper.close_expired()
    assert waiting.advance().state == "done"
    assert waiting.results()[0][0] == "succeeded"


def test_the_sweeper_expires_approvals(waiting):
    expire()
    supervisor.sweep()
    assert waiting.advance().state == "done"
    assert waiting.results()[0][0] == "rejected"
