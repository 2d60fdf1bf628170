"""Web servers on several hosts, whose clocks differ."""

import datetime

import pytest
from django.utils import timezone

from tasks_app import services
from tasks_app.models import Task
from tests.tasks_app.engine.conftest import result, script


@pytest.fixture
def clock(monkeypatch):
    """Set how far the clock of the host that handles a request is behind."""
    now = timezone.now

    def behind(seconds):
        monkeypatch.setattr(timezone, "now", lambda: now() - datetime.timedelta(seconds=seconds))

    return behind


def test_a_message_after_a_stop_starts_a_task_despite_a_late_clock(play, owner, clock):
    run = play({**result(), "delay": 60})
    services.stop(run.task)  # on one web server
    clock(2)
    services.post_message(run.task.session, owner, script(result("As you wish.")))  # on another web server
    clock(0)
    assert run.advance().stopped
    assert Task.objects.count() == 2


def test_messages_before_a_stop_start_nothing_despite_a_late_clock(play, owner, clock):
    run = play({**result(), "delay": 60})
    services.post_message(run.task.session, owner, script(result("Later.")), mode="queue")
    clock(2)
    services.stop(run.task)
    clock(0)
    assert run.advance().stopped
    assert Task.objects.count() == 1
