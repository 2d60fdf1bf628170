"""What an answer used, where its provider does not say: streams that break off, and servers that never count."""

from llm_app.budgets.amounts import BYTES_PER_TOKEN
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, Usage


class Meter:
    """Counts an answer while it arrives."""

    def __init__(self, request_bytes: int) -> None:
        self._request_bytes = request_bytes
        self._events = 0
        self._shown = 0  # bytes

    @property
    def has_begun(self) -> bool:
        """Whether anything of an answer came: the request was read then."""
        return self._events > 0

    def event(self, event: ServerEvent) -> None:
        self._events += 1

    def delta(self, delta: Delta) -> None:
        self._shown += len(delta.text.encode(errors="replace"))

    def usage(self, known: Usage) -> Usage:
        """`known`, made whole by an estimate: a token an event, or a token for three bytes, whichever is more."""
        return Usage(
            input_tokens=known.input_tokens or self._request_bytes // BYTES_PER_TOKEN,
            cached_tokens=known.cached_tokens,
            output_tokens=max(known.output_tokens, self._events, self._shown // BYTES_PER_TOKEN),
            thinking_tokens=known.thinking_tokens,
        )
