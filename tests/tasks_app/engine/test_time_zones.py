"""The time zone of a task is the same in its first reminder and in its commands."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result

DATE = call("shell", command="date '+%A, %Y-%m-%d, %H:%M %z'")


def times_of(run: Run) -> tuple[str, str, str]:
    """Return the time and zone of the reminder, and the output of `date`."""
    assert run.advance().state == "done"
    [start] = [entry.content for entry in run.entries if entry.metadata.get("kind") == "task_start"]
    found = re.search(r"It is (\w+, [\d-]+), \d\d:\d\d (\S+)\. ", start)
    assert found
    return found[1], found[2], run.results()[0][1].partition("\n")[0]


@pytest.mark.parametrize(
    ("zone", "offset"), [("Pacific/Kiritimati", "+1400"), ("Pacific/Pago_Pago", "-1100"), ("", "+0000")]
)
def test_commands_have_the_date_that_the_reminder_says(
    play: Callable[..., Run], owner: Any, zone: str, offset: str
) -> None:
    owner.time_zone = zone
    owner.save()
    day, named, printed = times_of(play(DATE, result()))
    assert named == (zone or "UTC")
    assert printed.startswith(f"{day}, ")
    assert printed.endswith(offset)


def test_shared_sessions_use_utc(play: Callable[..., Run], owner: Any) -> None:
    owner.time_zone = "Pacific/Kiritimati"
    owner.save()
    run = play(DATE, result())
    factories.MemberFactory(session=run.task.session)
    _, named, printed = times_of(run)
    assert (named, printed[-5:]) == ("UTC", "+0000")
