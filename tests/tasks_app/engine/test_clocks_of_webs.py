"""Webs on several hosts, whose clocks are not the same."""

import datetime

import pytest
from django.utils import timezone

from tasks_app import services
from tasks_app.models import Task
from tests.tasks_app.engine.conftest import result, script


@pytest.fixture
def clock(monkeypatch):
    """Sets how far the clock of the host is behind that now takes a request."""
    now = timezone.now

    def behind(seconds):
        monkeypatch.setattr(timezone, "now", lambda: now() - datetime.timedelta(seconds=seconds))

    return behind


def test_a_message_after_a_stop_starts_a_task_also_where_the_clock_of_its_web_is_behind(play, owner, clock):
    run = play({**result(), "delay": 60})
    services.stop(run.task)  # on one web
    clock(2)
    services.post_message(run.task.session, owner, script(result("As you wish.")))  # on another
    clock(0)
    assert run.advance().stopped
    assert Task.objects.count() == 2


def test_what_waited_before_a_stop_starts_nothing_also_where_the_clock_of_the_stop_is_behind(play, owner, clock):
    run = play({**result(), "delay": 60})
    services.post_message(run.task.session, owner, script(result("Later.")), mode="queue")
    clock(2)
    services.stop(run.task)
    clock(0)
    assert run.advance().stopped
    assert Task.objects.count() == 1
