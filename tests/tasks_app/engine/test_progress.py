"""The output of an interrupted call, as its tool reports it."""

from types import SimpleNamespace
from typing import Any

import pytest

from tasks_app.engine.capabilities.progress import Progress
from tools_app.errors import ToolError


@pytest.fixture
def progress() -> Progress:
    stream: Any = SimpleNamespace(text=lambda kind: "printed")
    return Progress(stream)


def raising(error: Exception) -> Any:
    def ask() -> str:
        raise error

    return ask


def test_reported_output_is_the_default(progress: Progress) -> None:
    assert progress.text() == "printed"


def test_tool_that_knows_more_reports_it(progress: Progress) -> None:
    progress.so_far(lambda: "half of it")
    assert progress.text() == "half of it"


def test_page_that_closed_during_an_interrupt_is_no_bug_of_the_server(progress: Progress) -> None:
    progress.so_far(raising(ToolError("The page has closed itself.")))
    assert progress.text() == "[The page has closed itself.]"


def test_fault_of_a_tool_leaves_the_printed_output(progress: Progress, caplog: pytest.LogCaptureFixture) -> None:
    progress.so_far(raising(ValueError("a bug")))
    assert progress.text() == "printed"
    assert "could not report its output" in caplog.text
