"""Redaction of secrets in texts, streams, requests, answers and the log."""

from llm_app.redaction.redactor import Redactor, StreamRedactor, names_in, placeholder, texts_in
from llm_app.redaction.refusal import is_too_plain, rejection_reason
from llm_app.redaction.turn import has_escapes, redacted_arguments, redacted_call, redacted_thinking

__all__ = [
    "Redactor",
    "StreamRedactor",
    "has_escapes",
    "is_too_plain",
    "names_in",
    "placeholder",
    "redacted_arguments",
    "redacted_call",
    "redacted_thinking",
    "rejection_reason",
    "texts_in",
]
