"""Rate-limited logging of repeated failures, such as those of an unreachable Redis."""

import logging
from concurrent.futures import Future

import pytest

from tasks_app.runtime import broadcast


def failed() -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(OSError("Redis is away"))
    return future


def test_repeated_failures_are_logged_occasionally(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "_quiet_until", 0.0, raising=False)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            broadcast.log_failure_of(failed())
    assert [record.getMessage() for record in caplog.records] == [
        "could not send an event, followers will read the rows: Redis is away"
    ]


def test_later_failure_is_logged_again(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "_quiet_until", 0.0, raising=False)
    monkeypatch.setattr(broadcast, "QUIET_SECONDS", 0.0, raising=False)
    with caplog.at_level(logging.WARNING):
        broadcast.log_failure_of(failed())
        broadcast.log_failure_of(failed())
    assert len(caplog.records) == 2
