"""The output of a program: read to its end, stored within a bound, and streamed while it runs."""

import asyncio
import codecs
from collections.abc import Callable
from typing import IO

from tools_app.files import clipped
from tools_app.sandbox import binary

_CHUNK = 64 * 1024
_PAUSE_S = 0.001  # once the limit is reached: slows a flooding program to about 60 MB/s and frees the event loop
_CONTINUATION = bytes(range(0x80, 0xC0))
_LINE_DIVISOR = 16  # divisor of the limit; a partial line at the cut is dropped unless it is longer than this share


class BoundedOutput:
    """The first and the last half of `limit` bytes of output, and its total size."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = self._tail = self._last_byte = b""
        self.size = 0
        self._line_ends = 0

    @property
    def truncated(self) -> bool:
        return self.size > self._limit

    @property
    def lines(self) -> int:
        return self._line_ends + (self.size > 0 and not self._last_byte.endswith(b"\n"))

    def add(self, chunk: bytes) -> None:
        if not chunk:
            return
        room = max(0, self._limit // 2 - len(self._head))
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[room:])[-(self._limit - self._limit // 2) :]
        self.size += len(chunk)
        self._line_ends += chunk.count(b"\n")
        self._last_byte = chunk[-1:]

    def text(self) -> str:
        """Return the entire output, or both ends around a line that reports the gap. Binary data is only named."""
        if not self.truncated:
            return _readable(self._head + self._tail)
        head, tail = binary.split_binary(self._head), binary.split_binary(self._tail)
        if head.binary and tail.binary and not head.after and not tail.before:
            size = self.size - len(head.before) - len(tail.after)
            return f"{_decode(head.before)}{binary.summary_line(size, head.data_format)}\n{_decode(tail.after)}"
        return self._both_ends()

    def _both_ends(self) -> str:
        """Return both ends in complete lines, unless a line is very long."""
        longest_line = self._limit // _LINE_DIVISOR
        head_end = self._head.rfind(b"\n", max(0, len(self._head) - longest_line)) + 1
        tail_begin = self._tail.find(b"\n", 0, longest_line) + 1
        is_by_line = bool(head_end and tail_begin)
        head = self._head[:head_end] if is_by_line else self._head
        tail = self._tail[tail_begin:] if is_by_line else self._tail.lstrip(_CONTINUATION)
        gap = clipped.gap_line(
            lines=self._line_ends - head.count(b"\n") - tail.count(b"\n") if is_by_line else 0,
            all_lines=self.lines,
            size=self.size - len(head) - len(tail),
            whole_size=self.size,
        )
        before = _readable(head)
        return f"{before}{'' if before.endswith(chr(10)) else chr(10)}{gap}\n{_readable(tail)}"


class CommandOutput:
    """The output of a program: the first `limit` bytes are stored, the first `stream_limit` bytes go to `on_output`."""

    def __init__(self, limit: int, on_output: Callable[[str], None], stream_limit: int | None = None) -> None:
        self.stored = BoundedOutput(limit)
        self._stream_limit = limit if stream_limit is None else stream_limit
        self._on_output = on_output
        self._incomplete = b""  # the first bytes of an incomplete character
        self._binary_size = 0  # size so far of the current binary data

    async def read_from(self, pipe: IO[bytes]) -> None:
        """Read to the end, even past the limit, so that the program never waits for a full pipe."""
        stream = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        try:
            while chunk := await stream.read(_CHUNK):
                self.add(chunk)
                if self.stored.truncated:
                    await asyncio.sleep(_PAUSE_S)
            self.finish()
        finally:
            transport.close()

    def add(self, chunk: bytes) -> None:
        streamed = self._incomplete + chunk[: max(0, self._stream_limit - self.stored.size)]
        self.stored.add(chunk)
        end = len(streamed) - _incomplete_length(streamed)
        self._incomplete = streamed[end:]
        self._emit(streamed[:end])

    def finish(self) -> None:
        """Emit the remaining bytes."""
        self._emit(self._incomplete)
        if self._binary_size and self.stored.size <= self._stream_limit:
            self._on_output(self._end_of_binary())

    def _emit(self, data: bytes) -> None:
        if not data:
            return
        parts = binary.split_binary(data)
        texts = []
        if self._binary_size and (parts.before or not parts.binary):
            texts.append(self._end_of_binary())
        texts.append(_decode(parts.before))
        if parts.binary and not self._binary_size:
            texts.append(f"{binary.start_line(parts.data_format)}\n")
        self._binary_size += len(parts.binary)
        if parts.after:
            texts += [self._end_of_binary(), _decode(parts.after)]
        if text := "".join(texts):
            self._on_output(text)

    def _end_of_binary(self) -> str:
        size, self._binary_size = self._binary_size, 0
        return f"{binary.end_line(size)}\n"


def _readable(data: bytes) -> str:
    parts = binary.split_binary(data)
    if not parts.binary:
        return _decode(data)
    return f"{_decode(parts.before)}{binary.summary_line(len(parts.binary), parts.data_format)}\n{_decode(parts.after)}"


def _decode(data: bytes) -> str:
    """Decode UTF-8, without an incomplete character at the end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)


def _incomplete_length(data: bytes) -> int:
    """Return the number of bytes at the end of `data` that start an incomplete UTF-8 character."""
    for length in (1, 2, 3):
        lead = data[-length] if len(data) >= length else 0
        if lead < 0x80:
            return 0
        if lead >= 0xC0:
            return length if length < 2 + (lead >= 0xE0) + (lead >= 0xF0) else 0
    return 0
