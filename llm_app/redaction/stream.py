"""Redacting a text that comes in pieces, so that no piece shows a part of a secret."""

import logging

from llm_app.redaction.redactor import WITHHELD, Redactor, with_placeholders

logger = logging.getLogger(__name__)
_LONG = 4_096  # characters; only a secret that goes on in itself ("abab…") is held back for longer


class StreamRedactor:
    """Whatever the pieces, together they give what redacting the whole text gives.

    Held back is only a tail that is itself the beginning of some form of a secret, until it goes on in another way.
    A tail that has become very long is looked at again only after an eighth of it has been added, so that the time
    grows with the text.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._added: list[str] = []
        self._added_size = 0
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
            self._added.append(text)
            self._added_size += len(text)
            if not is_last and len(self._held) > _LONG and self._added_size * 8 < len(self._held):
                return ""
            text = "".join([self._held, *self._added])
            self._added, self._added_size = [], 0
            return self._next(text, is_last=is_last)
        except Exception as error:  # noqa: BLE001  whatever it is, the text must not pass
            logger.error("redaction failed, a stream is withheld: %s", type(error).__name__)
            self._failed, self._held, self._added = True, "", []
            return WITHHELD

    def _next(self, text: str, *, is_last: bool) -> str:
        end = len(text) if is_last else self._redactor.open_end(text)
        spans = self._redactor.spans(text)
        # What begins at `end` may overlap a secret before it: then they are redacted as one, when it is known.
        end = min([end, *(span.offset for span in spans if span.offset < end < span.offset + span.length)])
        self._held = text[end:]
        return with_placeholders(text[:end], [span for span in spans if span.offset < end])
