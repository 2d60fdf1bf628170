"""Log formatters that redact each line last, including tracebacks."""

import json
import logging
import sys
import threading
from types import TracebackType
from typing import Any

from llm_app.redaction import seen_values
from llm_app.redaction.redactor import WITHHELD, with_placeholders

logger = logging.getLogger(__name__)


class RedactingFormatter(logging.Formatter):
    """A formatter that never raises and never logs. It withholds a record that cannot be formatted or redacted."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return self.redacted(super().format(record))
        except Exception:  # noqa: BLE001  after any failure, the text must not pass
            return f"{record.levelname} {record.name}: {WITHHELD}"

    @staticmethod
    def redacted(text: str) -> str:
        """Redact a text.

        Raises: any exception of the redactor.
        """
        return with_placeholders(text, seen_values.redactor().spans(text))


class JSONFormatter(RedactingFormatter):
    """A formatter that writes one JSON object per line: time (ISO 8601), level, logger, message, ids and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        row = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), "level": record.levelname, "logger": record.name}
        row |= getattr(record, "ids", {})
        try:
            row["message"] = self.redacted(record.getMessage())
            if record.exc_info:
                row["traceback"] = self.redacted(self.formatException(record.exc_info))
        except Exception:  # noqa: BLE001  as above
            row["message"] = WITHHELD
        return json.dumps(row, ensure_ascii=False)


def log_uncaught_errors() -> None:
    """Log uncaught errors through the redacted log; by default, Python prints them unredacted.

    This covers errors of threads, of finalizers, and of the program itself.
    """
    threading.excepthook = _log_thread_error
    sys.unraisablehook = _log_ignored_error
    sys.excepthook = _log_program_error
    logging.raiseExceptions = False  # a failing handler would print the record with its arguments


def _log_thread_error(failed: Any) -> None:
    if failed.exc_type is not SystemExit:
        logger.critical("a thread failed", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback))


def _log_ignored_error(failed: Any) -> None:
    logger.error("an error was ignored", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback))


def _log_program_error(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
    else:
        logger.critical("the program failed", exc_info=(kind, error, traceback))
