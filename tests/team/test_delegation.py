"""A delegated tree whose tasks run in several Celery workers, on a real PostgreSQL and Redis."""

import pytest
from celery import Celery

from tests.acceptance.test_delegated_trees import children_of, places, results, tree
from tests.acceptance.test_kill_and_restart import check_record
from tests.acceptance.test_main_job import start
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until

pytestmark = pytest.mark.team
CHILDREN = 8


def test_death_of_one_worker_loses_no_result_and_repeats_no_work(team):
    workers = [team.start_worker() for _ in range(3)]
    asked = Celery(broker=team.server.environment["REDIS_URL"]).control
    until(lambda: len(asked.ping(timeout=1, limit=3)) == 3)
    said = [f"Part {number} is there." for number in range(CHILDREN)]
    trace = call("shell", command="echo once >> trace")
    steps = [call("file", action="list", path=".")] * 2
    parts = [script(*steps, {**trace, "delay": number / 4}, result(text)) for number, text in enumerate(said)]
    session, task = start(team.server, tree(*parts))
    until(lambda: [child["state"] for child in children_of(team.server, task)].count("done") >= 2)
    workers[0].kill()
    workers[0].wait()
    team.server.until_task(task, state="done")
    content = results(team.server, session)[0]["content"]
    assert places(content, said) == sorted(places(content, said))
    children = children_of(team.server, task)
    assert [child["state"] for child in children] == ["done"] * CHILDREN
    for each in (session, *(child["session"] for child in children)):
        check_record(team.server, each)
    traces = (team.server.var / "workspaces" / session).glob("children/*/trace")
    assert max(each.read_text().count("once") for each in traces) == 1
