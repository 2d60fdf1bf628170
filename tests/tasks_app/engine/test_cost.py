"""What an iteration asks of the database: the same at its fifth as at its fortieth, and two commits."""

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.tasks_app.engine.conftest import call, result

MOST_QUERIES = 22  # of one iteration: without the two lines that begin and end each transaction


def asked(play: Any, iterations: int) -> tuple[int, int]:
    """Queries and commits of a task that writes so many files, its beginning and its end among them."""
    run = play(*[call("file", action="write", path=f"{n}.txt", content="x") for n in range(iterations)], result())
    with CaptureQueriesContext(connection) as caught:
        assert run.advance().state == "done"
    said = [query["sql"].split(maxsplit=1)[0] for query in caught]
    return len(said) - said.count("BEGIN") - said.count("COMMIT"), said.count("COMMIT")


def test_the_queries_of_an_iteration_are_few_and_do_not_grow(play: Any) -> None:
    asked(play, 1)  # what is stored once
    short, middle, long = (asked(play, iterations) for iterations in (5, 10, 45))
    early, late = (middle[0] - short[0]) / 5, (long[0] - middle[0]) / 35
    assert late <= early + 0.5 <= MOST_QUERIES
    assert long[1] - short[1] <= 40 * 2
