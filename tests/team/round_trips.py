"""Prints how often an iteration waits for PostgreSQL: the difference between a short task and a long one.

Run with DATABASE_URL, on a database with tables. libpq writes down what it says and hears on each connection.
"""

import tempfile
from typing import Any

import django

django.setup()  # before the models are imported

from django.db import connection
from psycopg_pool import ConnectionPool

from tasks_app import services
from tasks_app.models import Task
from tasks_app.worker import jobs
from tests import factories
from tests.tasks_app.engine.conftest import call, result, script

SHORT, LONG = 5, 25
_getconn = ConnectionPool.getconn


def answers(steps: int) -> int:
    """How often the server was ready for the next question, while a task of so many iterations ran."""
    said = script(*[call("message", type="info", text=f"{n} of {steps}") for n in range(steps)], result())
    session = factories.SessionFactory(model=factories.scripted_model("script"))
    task = services.post_message(session, session.owner, said).task
    assert task is not None
    connection.close()
    with tempfile.NamedTemporaryFile("w") as trace:

        def traced(pool: ConnectionPool, *args: Any, **kwargs: Any) -> Any:
            taken = _getconn(pool, *args, **kwargs)
            taken.pgconn.trace(trace.fileno())
            return taken

        ConnectionPool.getconn = traced  # type: ignore[method-assign]
        jobs.advance(task.pk)
        connection.close()
        ConnectionPool.getconn = _getconn  # type: ignore[method-assign]
        assert Task.objects.get(pk=task.pk).state == "done"
        with open(trace.name) as lines:
            return sum("ReadyForQuery" in line for line in lines)


if __name__ == "__main__":
    answers(SHORT)
    short, long = answers(SHORT), answers(LONG)
    print((long - short) / (LONG - SHORT))
