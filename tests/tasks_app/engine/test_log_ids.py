"""Log lines carry the ids of their request, person, session and task, also in the worker."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from llm_app.redaction.logs import JSONFormatter, RedactingFormatter
from tasks_app.models import Task
from tasks_app.runtime import log_ids, wakeup
from tasks_app.worker import jobs
from tests.tasks_app.engine.conftest import Run, call, result


class Lines(logging.Handler):
    """A log handler that stores its lines as objects."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.addFilter(log_ids.AddIds())
        self.setFormatter(JSONFormatter())
        self.rows: list[dict[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.rows.append(json.loads(self.format(record)))


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler, logger = Lines(), logging.getLogger("tasks_app")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_claim_steps_and_end_of_a_task_are_logged_with_their_ids(play: Any, lines: Lines) -> None:
    run: Run = play(call("file", action="list", path="."), result())
    lines.rows.clear()
    jobs.advance_task.apply(args=[str(run.task.pk)], headers={log_ids.HEADER: "of-the-request"})
    ours = [row for row in lines.rows if row["logger"] in ("tasks_app.worker.jobs", "tasks_app.engine.loop")]
    assert [row["message"].split(" ")[0] for row in ours] == ["claimed", *["iteration"] * 3, "released"]
    assert "done" in ours[-1]["message"]
    ids = {
        "task": str(run.task.pk),
        "session": str(run.task.session_id),
        "user": str(run.task.started_by_id),
        "request": "of-the-request",
    }
    assert all(ids.items() <= row.items() for row in ours)


def test_a_wake_up_carries_the_id_of_its_request(monkeypatch: pytest.MonkeyPatch, play: Any) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(wakeup.current_app, "send_task", lambda *args, **message: sent.append(message))
    task: Task = play(result()).task
    with log_ids.bound(request="r-1"):
        wakeup.enqueue(task.pk)
    assert sent[-1]["headers"] == {log_ids.HEADER: "r-1"}


@pytest.mark.parametrize(("given", "is_kept"), [("edge-7.a_b", True), ("two\nlines", False), ("x" * 65, False)])
def test_a_request_keeps_its_proxys_id(given: str, is_kept: bool) -> None:
    answers = [Client().get("/healthz", headers={log_ids.HEADER: given})[log_ids.HEADER] for _ in range(2)]
    assert (answers == [given, given]) is is_kept
    assert is_kept or answers[0] != answers[1]


def test_the_ids_of_a_line_of_text_come_last() -> None:
    record = logging.LogRecord("a.b", logging.ERROR, "f", 1, "it failed", (), None)
    with log_ids.bound(task="t-1", session=""):
        log_ids.AddIds().filter(record)
    assert RedactingFormatter("%(message)s%(suffix)s").format(record) == "it failed [task=t-1]"
