"""Redacting a text that comes in pieces, so that no piece shows a part of a secret."""

import logging

from llm_app.redaction.redactor import WITHHELD, Redactor, with_placeholders

logger = logging.getLogger(__name__)


class StreamRedactor:
    """Whatever the pieces, together they give what redacting the whole text gives.

    Held back is only a tail that is itself the beginning of some form of a secret, until it goes on in another way.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._failed = False

    def feed(self, text: str) -> str:
        """The next piece of the redacted text; empty while all of it is held back."""
        return self._redacted_part(text, is_last=False)

    def flush(self) -> str:
        """The rest, when nothing more is to come."""
        return self._redacted_part("", is_last=True)

    def _redacted_part(self, text: str, *, is_last: bool) -> str:
        """Never raises: after a failure the stream is withheld."""
        if self._failed:
            return ""
        try:
            return self._next(self._held + text, is_last=is_last)
        except Exception as error:  # noqa: BLE001  whatever it is, the text must not pass
            logger.error("redaction failed, a stream is withheld: %s", type(error).__name__)
            self._failed, self._held = True, ""
            return WITHHELD

    def _next(self, text: str, *, is_last: bool) -> str:
        end = len(text) if is_last else self._redactor.open_end(text)
        spans = self._redactor.spans(text)
        # What begins at `end` may overlap a secret before it: then they are redacted as one, when it is known.
        end = min([end, *(span.offset for span in spans if span.offset < end < span.offset + span.length)])
        self._held = text[end:]
        return with_placeholders(text[:end], [span for span in spans if span.offset < end])
