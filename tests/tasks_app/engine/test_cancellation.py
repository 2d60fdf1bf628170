"""A ring ends the work that runs, or the next one."""

import asyncio

import pytest

from tasks_app.runtime.cancellation import Interruption, WorkAborted


def test_a_ring_at_the_moment_at_which_work_ends_is_heard_by_the_next_one(db):
    interruption = Interruption(lambda: True)
    interruption.signal()
    interruption._wake.clear()  # as the wait for the work does that has ended meanwhile
    with pytest.raises(WorkAborted):
        interruption.unless_aborted(asyncio.sleep(60))


def test_a_ring_that_nobody_meant_ends_nothing(db):
    interruption = Interruption(lambda: False)
    interruption.signal()
    assert interruption.unless_aborted(asyncio.sleep(0.01, "done")) == "done"
