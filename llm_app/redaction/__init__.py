"""Redaction of secrets in texts, streams, requests, answers and the log."""

from llm_app.redaction import seen_values
from llm_app.redaction.prompt import LoggedSpan, redacted_system, redacted_tools, with_spans
from llm_app.redaction.redactor import NAME, Redactor, StreamRedactor, names_in, placeholder, texts_in
from llm_app.redaction.refusal import is_too_plain, rejection_reason
from llm_app.redaction.turn import has_escapes, redacted_arguments, redacted_call, redacted_thinking

__all__ = [
    "NAME",
    "LoggedSpan",
    "Redactor",
    "StreamRedactor",
    "has_escapes",
    "is_too_plain",
    "names_in",
    "placeholder",
    "redacted_arguments",
    "redacted_call",
    "redacted_system",
    "redacted_thinking",
    "redacted_tools",
    "rejection_reason",
    "seen_values",
    "texts_in",
    "with_spans",
]
