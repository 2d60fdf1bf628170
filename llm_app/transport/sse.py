"""A decoder of server-sent events that arrive in chunks of any size."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from llm_app.errors import UnreadableReply

MAX_LINE = 16 * 1024 * 1024  # bytes
MAX_OTHER_LINES = 1_000
_JSON_BEGINS = ("{", "[")
_BARE_ERROR = re.compile(r'\{\s*"(error|base_resp)"\s*:.*\}', re.DOTALL)
_BYTE_ORDER_MARK = "\ufeff".encode()  # some servers begin with a byte order mark


class ServerEvent(NamedTuple):
    name: str
    data: str


class SSEDecoder:
    """A decoder that is fed with chunks and yields complete events, in linear time.

    Source: WHATWG HTML, 9.2.6 (a lone CR as line end is not supported).
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # chunks of the current line
        self._size = 0
        self._name = ""
        self._data: list[str] = []
        self._has_event = False
        self._other_lines: list[str] = []  # the first lines that are not part of an event stream

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Decode a chunk.

        Raises: UnreadableReply for a line that is too long.
        """
        self._parts.append(chunk)
        self._size += len(chunk)
        if b"\n" not in chunk and self._size <= MAX_LINE:
            return
        *lines, rest = b"".join(self._parts).split(b"\n")
        if self._size > MAX_LINE < max(map(len, (*lines, rest))):
            raise UnreadableReply("a line of the stream is longer than 16 MiB")
        self._parts, self._size = [rest], len(rest)
        for line in lines:
            if event := self._decode_line(line):
                yield event

    def end(self) -> Iterator[ServerEvent]:
        """Yield the last event of a stream that ended without an empty line, or the body if it is JSON instead.

        Raises: UnreadableReply if the data was no event stream.
        """
        for line in (b"".join(self._parts), b""):
            if event := self._decode_line(line):
                yield event
        if self._other_lines and not self._has_event:
            if not self._other_lines[0].startswith(_JSON_BEGINS):
                raise UnreadableReply(self._other_lines[0][:200])
            yield ServerEvent("", "\n".join(self._other_lines))

    def _decode_line(self, line: bytes) -> ServerEvent | None:
        if line.endswith(b"\r") or line.startswith(_BYTE_ORDER_MARK):
            return self._decode_line(line.rstrip(b"\r").removeprefix(_BYTE_ORDER_MARK))
        if not line:
            event = ServerEvent(self._name, "\n".join(self._data)) if self._data else None
            self._has_event = self._has_event or event is not None
            self._name, self._data = "", []
            return event
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" ").decode(errors="replace"))
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode(errors="replace")
        elif line.startswith(b"error:"):  # older versions of llama.cpp's server
            self._has_event = True
            return ServerEvent("error", line[6:].strip().decode(errors="replace"))
        elif line.strip() and not line.startswith((b":", b"id:", b"retry:")):
            return self._decode_other_line(line)
        return None

    def _decode_other_line(self, line: bytes) -> ServerEvent | None:
        """Return an error that a gateway wrote between events as bare JSON; store other lines for `end`."""
        text = line.decode(errors="replace").strip()
        if self._has_event:
            return ServerEvent("error", text) if _BARE_ERROR.match(text) and not self._data else None
        if len(self._other_lines) < MAX_OTHER_LINES:
            self._other_lines.append(text)
        return None
