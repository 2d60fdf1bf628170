"""What nobody caught would be printed as it is. It goes through the log instead, which is redacted."""

import logging
import sys
import threading
from types import TracebackType
from typing import Any

logger = logging.getLogger(__name__)


def to_the_log() -> None:
    """For threads, for what fails while Python clears up, and for the program itself."""
    threading.excepthook = _of_thread
    sys.unraisablehook = _while_clearing_up
    sys.excepthook = _of_program
    logging.raiseExceptions = False  # a line that cannot be written would be printed with its arguments


def _of_thread(failed: Any) -> None:
    if failed.exc_type is not SystemExit:
        logger.critical("a thread failed", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback))


def _while_clearing_up(failed: Any) -> None:
    logger.error("an error was ignored", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback))


def _of_program(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
    else:
        logger.critical("the program failed", exc_info=(kind, error, traceback))
