"""Outcomes of calls on the page: a tool that ran can still have failed, and nothing is in progress
after a task's end.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.tasks_app.engine.conftest import call, owner, play, result
from tests.tasks_app.pages.conftest import Browser

__all__ = ["owner", "play"]
Page = Callable[..., str]
STEPS = [{"title": "Look", "status": "done"}, {"title": "Build", "status": "in_progress"}]


@pytest.fixture
def page(play: Any, owner: Any) -> Page:
    """Return a function that returns the session's page after a task with these replies."""

    def shown(*replies: Any) -> str:
        run = play(*replies)
        assert run.advance().state == "done"
        return Browser(owner).page(run.task.session.get_absolute_url())

    return shown


def test_failed_command_is_not_done(page: Page) -> None:
    html = page(call("shell", command="echo no rule; exit 2"), result())
    assert '<span class="badge bad">' in html
    assert "Exit code 2" in html
    assert "1 failed" in html


def test_command_that_found_nothing_is_not_a_failure(page: Page) -> None:
    html = page(call("shell", command="echo a | grep b"), result())
    assert "Exit code 1" in html
    assert 'class="badge bad"' not in html


def test_no_plan_step_is_in_progress_after_the_end(page: Page) -> None:
    html = page(call("plan", action="update", steps=STEPS), result())
    plan = html.partition('<ol class="plan">')[2].partition("</ol>")[0]
    assert "in_progress" not in plan
    assert "not finished" in plan
