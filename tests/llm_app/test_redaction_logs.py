"""No log line contains a secret that this process knows."""

import json
import logging
import sys
import threading
from collections.abc import Iterator

import pytest
from celery.app.log import Logging

from agentsite.celery import app
from llm_app.redaction import logs, seen_values
from llm_app.redaction.logs import JSONFormatter, RedactingFormatter

SECRET = "log-secret-0a1B2c3D"


@pytest.fixture(autouse=True)
def _known() -> None:
    seen_values.remember(SECRET, "LOGGED")


def logged(message: object, *arguments: object, formatter: logging.Formatter, error: bool = False) -> str:
    info = None
    if error:
        try:
            raise ValueError(f"broken by {SECRET}")
        except ValueError:
            info = sys.exc_info()
    return formatter.format(logging.LogRecord("a.b", logging.ERROR, "f", 1, message, arguments, info))


@pytest.mark.parametrize("formatter", [RedactingFormatter(), JSONFormatter()])
def test_messages_arguments_and_tracebacks_are_redacted(formatter: logging.Formatter) -> None:
    line = logged("it is %s, %r", SECRET, {"key": SECRET}, formatter=formatter, error=True)
    assert SECRET not in line
    assert line.count("[secret:LOGGED]") >= 3
    assert "Traceback" in line


def test_each_json_record_is_one_line() -> None:
    row = json.loads(logged(f'a "quoted"\nline with {SECRET}', formatter=JSONFormatter()))
    assert row["message"] == 'a "quoted"\nline with [secret:LOGGED]'
    assert (row["level"], row["logger"]) == ("ERROR", "a.b")


@pytest.mark.parametrize("formatter", [RedactingFormatter(), JSONFormatter()])
@pytest.mark.parametrize("arguments", [("one", "too many"), ()])
def test_records_that_cannot_be_formatted_or_redacted_are_withheld(
    formatter: logging.Formatter, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not arguments:
        monkeypatch.setattr(seen_values, "redactor", lambda: 1 / 0)
    line = logged(f"it is {SECRET}", *arguments, formatter=formatter)
    assert SECRET not in line
    assert "withheld" in line


def handlers() -> Iterator[logging.Handler]:
    loggers = [logging.getLogger(), *map(logging.getLogger, logging.root.manager.loggerDict)]
    return (handler for logger in loggers for handler in logger.handlers if type(handler) is logging.StreamHandler)


def test_every_handler_redacts_including_those_of_celery() -> None:
    Logging(app).setup_logging_subsystem(loglevel="INFO")
    assert [handler for handler in handlers() if not isinstance(handler.formatter, RedactingFormatter)] == []


def test_uncaught_errors_go_through_the_log(caplog: pytest.LogCaptureFixture, capsys: object) -> None:
    caplog.handler.setFormatter(RedactingFormatter())
    error = ValueError(SECRET)
    logs._log_program_error(ValueError, error, None)
    logs._log_thread_error(threading.ExceptHookArgs((ValueError, error, None, None)))
    assert caplog.text.count("[secret:LOGGED]") == 2
    assert SECRET not in caplog.text
