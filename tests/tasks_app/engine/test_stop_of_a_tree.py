"""A person stops a tree of tasks while a child in it delegates: neither waits for the other for ever."""

import time
from threading import Thread

import pytest
from django.db import connection

from tasks_app import services
from tasks_app.interaction import children
from tasks_app.models import Task
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_delegation import children_of, part

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_stop_and_a_delegation_below_do_not_wait_for_each_other(play, monkeypatch):
    run = play(call("delegate", tasks=[part(call("delegate", tasks=[part(result())]), result())]), result())
    run.advance()
    [child] = children_of(run.task)
    start, failed = children.start, []

    def stop():
        try:
            services.stop(Task.objects.get(pk=run.task.pk))
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    stopping = Thread(target=stop)

    def slow_start(*arguments):
        stopping.start()
        time.sleep(0.5)  # the stop is on its way
        start(*arguments)

    monkeypatch.setattr(children, "start", slow_start)
    type(run)(child).advance()
    stopping.join(20)
    assert failed == []
    child.refresh_from_db()
    assert child.crashes == 0
