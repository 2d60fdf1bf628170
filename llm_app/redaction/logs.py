"""The last thing that happens to each line of the log: what is secret in it is redacted, tracebacks included."""

import json
import logging

from llm_app.redaction import seen_values
from llm_app.redaction.redactor import WITHHELD, replaced


class RedactingFormatter(logging.Formatter):
    """Never raises, and logs nothing itself: a record that cannot be put together or redacted is withheld."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            return self.redacted(super().format(record))
        except Exception:  # noqa: BLE001  whatever it is, the text must not pass
            return f"{record.levelname} {record.name}: {WITHHELD}"

    @staticmethod
    def redacted(text: str) -> str:
        """Raises whatever goes wrong."""
        return replaced(text, seen_values.redactor().spans(text))


class JSONFormatter(RedactingFormatter):
    """One JSON object a line: time (ISO 8601), level, logger, message and, if there is one, the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        row = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), "level": record.levelname, "logger": record.name}
        try:
            row["message"] = self.redacted(record.getMessage())
            if record.exc_info:
                row["traceback"] = self.redacted(self.formatException(record.exc_info))
        except Exception:  # noqa: BLE001  as above
            row["message"] = WITHHELD
        return json.dumps(row, ensure_ascii=False)
