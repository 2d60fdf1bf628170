"""Messages that are sent while the model of a new key is being tested: a working model answers them."""

from threading import Event
from types import SimpleNamespace

import pytest
from celery import Celery

from agentsite.serving import web


def test_tasks_start_when_the_test_of_the_model_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    is_known, runs = Event(), Event()
    monkeypatch.setattr(web, "TEST_WAIT_SECONDS", 0)
    monkeypatch.setattr(web, "setup_worker_optimizations", lambda app, name: None)
    monkeypatch.setattr(web, "WorkController", lambda **options: SimpleNamespace(start=runs.set))
    monkeypatch.setattr(web.first_start, "connect_model", lambda: str(is_known.wait(30)))
    test = web.ConnectionTest()
    web.EmbeddedWorker(Celery(), 1, test).start()
    assert test.is_pending
    assert not runs.wait(0.1)
    is_known.set()
    assert runs.wait(30)
