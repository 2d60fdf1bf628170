"""Fixtures of the pages' tests, and a counter of the queries and renderings for subscribers."""

import threading
from collections import Counter

import pytest
from django.db.backends.utils import CursorWrapper

from tasks_app.pages import fragments
from tests.tasks_app.api.conftest import approving, asking, task
from tests.tasks_app.pages.conftest import called, recorded

__all__ = ["approving", "asking", "called", "recorded", "task"]


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count `queries` in the threads that refresh snapshots, and `renderings` anywhere."""
    counted: Counter[str] = Counter()
    execute, rendered = CursorWrapper.execute, fragments._render

    def counting_execute(self: CursorWrapper, *arguments: object) -> object:
        counted["queries"] += threading.current_thread().name.startswith("live")
        return execute(self, *arguments)

    def counting_rendered(*arguments: object) -> object:
        counted["renderings"] += 1
        return rendered(*arguments)

    monkeypatch.setattr(CursorWrapper, "execute", counting_execute)
    monkeypatch.setattr(fragments, "_render", counting_rendered)
    return counted
