"""A stop of a task tree while a child delegates: no deadlock."""

import time
from threading import Thread

import pytest
from django.db import connection

from tasks_app import services
from tasks_app.models import Task
from tasks_app.run import UnitOfWork, children
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_delegation import children_of, part, work_off

pytestmark = pytest.mark.django_db(transaction=True)


class Stopping(Thread):
    """A stop by a person, in a thread."""

    def __init__(self, task):
        super().__init__()
        self.task, self.failed = task, None
        self.start()

    def run(self):
        try:
            services.stop(Task.objects.get(pk=self.task.pk))
        except Exception as error:
            self.failed = error
        finally:
            connection.close()


def test_a_stop_and_a_delegation_below_do_not_wait_for_each_other(play, monkeypatch):
    run = play(call("delegate", tasks=[part(call("delegate", tasks=[part(result())]), result())]), result())
    run.advance()
    [child] = children_of(run.task)
    start, stopping = children.start, []

    def slow_start(*arguments):
        stopping.append(Stopping(run.task))
        time.sleep(0.5)  # the stop is on its way
        start(*arguments)

    monkeypatch.setattr(children, "start", slow_start)
    type(run)(child).advance()
    stopping[0].join(20)
    assert stopping[0].failed is None
    child.refresh_from_db()
    assert child.crashes == 0


@pytest.mark.parametrize(
    "last_step", [call("message", type="ask", text="Which one?"), call("delegate", tasks=[part(result())])]
)
def test_a_child_that_begins_to_wait_during_a_stop_is_stopped(play, monkeypatch, last_step):
    run = play(call("delegate", tasks=[part(last_step, result())]), result())
    run.advance()
    [child] = children_of(run.task)
    snapshot, stopping = UnitOfWork.snapshot, []

    def slow_snapshot(unit, *, fresh):
        seen = snapshot(unit, fresh=fresh)
        if connection.in_atomic_block and not stopping:  # it has not seen the stop, and is about to wait
            stopping.append(Stopping(run.task))
            time.sleep(0.5)
        return seen

    monkeypatch.setattr(UnitOfWork, "snapshot", slow_snapshot)
    type(run)(child).advance()
    stopping[0].join(20)
    work_off(run)
    assert all(task.stopped for task in Task.objects.all())
