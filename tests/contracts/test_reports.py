"""Reports of what providers really answered: each is played against whole tasks, with a real server."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_app.call import retry
from tests.contracts import report as reports
from tests.contracts.report_checks import CHECKS
from tests.provider import FakeProvider, running

NAMES = sorted(file.stem for file in reports.FOLDER.glob("*.json"))


@pytest.fixture(scope="module")
def third_server() -> Iterator[FakeProvider]:
    with running() as server:
        yield server


@pytest.fixture
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_wait", lambda delay, jitter: retry.RetryDecision(retry.Action.RETRY, 0.0))


@pytest.mark.usefixtures("_no_patience")
@pytest.mark.parametrize("name", NAMES)
def test_report(owner: Any, servers: list[FakeProvider], third_server: FakeProvider, name: str) -> None:
    """Afterwards the session takes a message to another model, and the fixture `owner` rebuilds every request."""
    report = reports.load(name)
    played = reports.ReportedSession(report, owner, *servers)
    played.play()
    for check, expected in report["expect"].items():
        CHECKS[check](played, expected)
    task = played.continue_elsewhere(third_server)
    assert (task.state, task.failure_detail) == ("done", "")
