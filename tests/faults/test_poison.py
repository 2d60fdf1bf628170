"""Tests that a task that kills its server is given up, unlike tasks that ran next to it or were killed from outside."""

import time
from contextlib import suppress

from tests.faults import load
from tests.faults.deployment import Embedded
from tests.faults.invariants import check
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until


def probes(job: load.Job, count: int, seconds: float) -> str:
    calls = [call("probe_moderate", mark=f"{job.token}.{number}", seconds=seconds) for number in range(count)]
    return script(*calls, result(job.answer))


def poison(job: load.Job, seconds: float) -> str:
    calls = [call("kill_server", mark=f"{job.token}.{number}", seconds=seconds) for number in range(20)]
    return script(*calls, result(job.answer))


def until_ended(deployment: Embedded, jobs: list[load.Job]) -> None:
    """Wait until all have ended, while a supervisor restarts the server after each crash."""

    def all_ended() -> bool:
        with suppress(AssertionError):  # it died during its start
            deployment.server.revive()
        return all(row["state"] in load.ENDED for row in load.states(deployment, jobs).values())

    until(all_ended, 120, 0.1)


def test_only_the_task_that_kills_its_server_is_given_up(embedded: Embedded) -> None:
    innocents = load.start(embedded, 4, lambda job, number: probes(job, 3, 1.5))
    [guilty] = load.start(embedded, 1, lambda job, number: poison(job, 1))
    guilty.may_fail = True
    until_ended(embedded, [*innocents, guilty])
    found = load.states(embedded, [*innocents, guilty])
    assert {found[job.token]["state"] for job in innocents} == {"done"}
    assert found[guilty.token]["failure_code"] == "tool_crashed"
    sentence = embedded.server.task(guilty.task)["failure"]["detail"]
    assert "failed 4 times while this task worked" in sentence
    check(embedded, [*innocents, guilty])


def test_two_killing_tasks_do_not_end_others(embedded: Embedded) -> None:
    innocents = load.start(embedded, 2, lambda job, number: probes(job, 2, 1.5))
    guilty = load.start(embedded, 2, lambda job, number: poison(job, 0.5 + number))
    until_ended(embedded, [*innocents, *guilty])
    found = load.states(embedded, [*innocents, *guilty])
    assert {found[job.token]["state"] for job in innocents} == {"done"}
    assert {found[job.token]["failure_code"] for job in guilty} == {"tool_crashed"}


def test_server_killed_four_times_gives_up_no_task(embedded: Embedded) -> None:
    jobs = load.start(embedded, 3, lambda job, number: probes(job, 6, 3))
    for _ in range(4):
        until(lambda: any(row["state"] == "executing_tool" for row in load.states(embedded, jobs).values()))
        time.sleep(0.5)  # in the middle of a call
        embedded.server.kill()
        embedded.server.start()
    load.until_ended(embedded, jobs, 120)
    assert {row["state"] for row in load.states(embedded, jobs).values()} == {"done"}
    check(embedded, jobs)
