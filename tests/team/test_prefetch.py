"""Prefetching of wake-ups: they reach a worker with a free thread."""

import time

import pytest
from celery import Celery

from tests.acceptance.test_main_job import start
from tests.tasks_app.engine.conftest import result, script
from tests.waiting import check_bound, until

pytestmark = pytest.mark.team
STALLED = 4


def test_busy_worker_leaves_wake_ups_to_a_free_one(own_team):
    asked = Celery(broker=own_team.server.environment["REDIS_URL"]).control
    own_team.start_worker(STALLED)
    until(lambda: len(asked.ping(timeout=1, limit=1)) == 1)
    for _ in range(STALLED):
        _, task = start(own_team.server, script({**result(), "stall": 100}))
        own_team.server.until_task(task, state="thinking")
    own_team.start_worker()
    until(lambda: len(asked.ping(timeout=1, limit=2)) == 2)
    waited = []
    for _ in range(8):
        began = time.monotonic()
        _, task = start(own_team.server, script(result()))
        own_team.server.until_task(task, state="done")
        waited.append(time.monotonic() - began)
    check_bound(max(waited), 5)
