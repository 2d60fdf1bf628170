"""A script that prints the round trips to PostgreSQL and the parsed statements per iteration.

They are the difference of a long and a short task. Run it with the name of the called tool, and with DATABASE_URL of
a database with tables. libpq traces the messages of each connection.
"""

import sys
import tempfile
from collections import Counter
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
KINDS = ("ReadyForQuery", "Parse\t")
_getconn = ConnectionPool.getconn


def messages(tool: str, steps: int) -> Counter[str]:
    """Return how often the server became ready and how often it parsed a statement during a task."""
    said = script(*[_call(tool, n) for n in range(1, steps + 1)], result())
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
            return Counter(kind for line in lines for kind in KINDS if f"\t{kind}" in line)


def _call(tool: str, number: int) -> dict[str, Any]:
    """Return a call that is never repeated. The handler of `message` is a plain function, that of `file` is awaited."""
    if tool == "message":
        return call("message", type="info", text=str(number))
    return call("file", action="list", path=".", limit=number)


if __name__ == "__main__":
    tool = sys.argv[1]
    for _ in range(2):  # a connection parses a statement at its sixth use once more and prepares it
        messages(tool, SHORT)
    short, long = messages(tool, SHORT), messages(tool, LONG)
    print(*((long[kind] - short[kind]) / (LONG - SHORT) for kind in KINDS))
