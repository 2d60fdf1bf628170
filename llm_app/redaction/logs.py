"""The last thing that happens to each line of the log: what is secret in it is masked, tracebacks included."""

import json
import logging

from llm_app.redaction import seen_values
from llm_app.redaction.masker import WITHHELD, replaced


class MaskingFormatter(logging.Formatter):
    """Never raises, and logs nothing itself: a record that cannot be put together or masked is withheld."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return self.masked(super().format(record))
        except Exception:  # noqa: BLE001  whatever it is, the text must not pass
            return f"{record.levelname} {record.name}: {WITHHELD}"

    @staticmethod
    def masked(text: str) -> str:
        """Raises whatever goes wrong."""
        return replaced(text, seen_values.masker().spans(text))


class JSONFormatter(MaskingFormatter):
    """One JSON object a line: time (ISO 8601), level, logger, message and, if there is one, the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        row = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), "level": record.levelname, "logger": record.name}
        try:
            row["message"] = self.masked(record.getMessage())
            if record.exc_info:
                row["traceback"] = self.masked(self.formatException(record.exc_info))
        except Exception:  # noqa: BLE001  as above
            row["message"] = WITHHELD
        return json.dumps(row, ensure_ascii=False)
