"""The queries of an iteration: as many at its fifth as at its fortieth, and two commits."""

import re
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app.engine import step_settings
from tasks_app.models import Agent, Session
from tasks_app.run import StepSettings
from tasks_app.runtime import settings_version
from tests.tasks_app.engine.conftest import call, result

MOST_QUERIES = 16  # of one iteration, without BEGIN and COMMIT


def asked(play: Any, iterations: int) -> tuple[int, int]:
    """Return queries and commits of a task that writes so many files, including its beginning and end."""
    run = play(
        *[call("file", action="write", path=f"{n}.txt", content=f"{n} of {iterations}") for n in range(iterations)],
        result(),
    )
    with CaptureQueriesContext(connection) as caught:
        assert run.advance().state == "done"
    said = [query["sql"].split(maxsplit=1)[0] for query in caught]
    return len(said) - said.count("BEGIN") - said.count("COMMIT"), said.count("COMMIT")


def test_the_queries_of_an_iteration_are_few_and_do_not_grow(play: Any) -> None:
    asked(play, 1)  # blobs are stored once
    short, middle, long = (asked(play, iterations) for iterations in (5, 10, 45))
    early, late = (middle[0] - short[0]) / 5, (long[0] - middle[0]) / 35
    assert late <= early + 0.5 <= MOST_QUERIES
    assert long[1] - short[1] <= 40 * 2 + 2  # plus a reminder for each 20 calls of one tool


def test_tables_read_only_after_a_change_are_watched(play: Any, monkeypatch: Any) -> None:
    read_settings, seen = step_settings.read_settings, []

    def observed(*args: Any, **kwargs: Any) -> StepSettings:
        with CaptureQueriesContext(connection) as caught:
            settings = read_settings(*args, **kwargs)
        seen.append({table for query in caught for table in re.findall(r'(?:FROM|JOIN) "(\w+)"', query["sql"])})
        return settings

    monkeypatch.setattr(step_settings, "read_settings", observed)
    run = play(call("file", action="list"), result())
    Session.objects.filter(pk=run.task.session_id).update(agent=Agent.objects.create(name="writer"))
    assert run.advance().state == "done"
    watched = {model._meta.db_table for model in settings_version.WATCHED}
    assert len(seen) == 1
    # Not watched: sessions are read by id at each step, people only for their names, breakers for each call, logs only
    # to keep the demo from taking over, and versions only after a change of an agent.
    assert seen[0] - watched <= {"sessions", "accounts_user", "circuit_breakers", "llm_logs", "agent_versions"}
