"""Server-sent events out of a stream of bytes, split wherever the network pleases."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_app.errors import UnreadableReply

MAX_LINE = 16 * 1024 * 1024  # bytes; beyond it a peer floods us
_MARK = "\ufeff".encode()  # some servers begin with a byte order mark


@dataclass(frozen=True, slots=True)
class ServerEvent:
    name: str
    data: str


class SSEDecoder:
    """Feed it chunks; it yields whole events, in linear time.

    Source: WHATWG HTML, 9.2.6 (a lone CR as line end is not supported).
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # of the line at hand
        self._size = 0
        self._name = ""
        self._data: list[str] = []
        self.foreign = ""  # the first line that is none of such a stream

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Raises UnreadableReply for a line that is too long."""
        first, *others = chunk.split(b"\n")
        self._add(first)
        for part in others:
            if event := self._line_is_over():
                yield event
            self._add(part)

    def end(self) -> Iterator[ServerEvent]:
        """The last event of a stream that ended without an empty line."""
        for _ in range(2):
            if event := self._line_is_over():
                yield event

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > MAX_LINE:
            raise UnreadableReply("a line of the stream is longer than 16 MiB")

    def _line_is_over(self) -> ServerEvent | None:
        line = b"".join(self._parts).rstrip(b"\r").removeprefix(_MARK)
        self._parts.clear()
        self._size = 0
        if not line:
            return self._event_is_over()
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode(errors="replace"))
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode(errors="replace")
        elif line.strip() and not line.startswith((b":", b"id:", b"retry:")):
            self.foreign = self.foreign or line[:200].decode(errors="replace")
        return None

    def _event_is_over(self) -> ServerEvent | None:
        event = ServerEvent(self._name, "\n".join(self._data)) if self._data else None
        self._name, self._data = "", []
        return event
