"""What a program prints: shown as it comes, kept within a bound."""

import asyncio
import codecs
from collections.abc import Callable
from typing import IO

_CHUNK = 64 * 1024
_PAUSE_S = 0.001  # after the bound: a program that floods gets about 60 MB/s and leaves the event loop to others
_CONTINUATION = bytes(range(0x80, 0xC0))


class Output:
    """The first and the last half of `limit` bytes are kept; the first `shown` bytes are shown to `on_output`."""

    def __init__(self, limit: int, on_output: Callable[[str], None], shown: int | None = None) -> None:
        self._limit = limit
        self._shown = limit if shown is None else shown
        self._on_output = on_output
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._head = b""
        self._tail = b""
        self._total = 0

    @property
    def truncated(self) -> bool:
        return self._total > self._limit

    async def read_from(self, pipe: IO[bytes]) -> None:
        """Reads to the end, past the bound too: a program must never wait for a full pipe."""
        stream = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        try:
            while chunk := await stream.read(_CHUNK):
                self.add(chunk)
                if self.truncated:
                    await asyncio.sleep(_PAUSE_S)
        finally:
            transport.close()

    def add(self, chunk: bytes) -> None:
        shown = chunk[: max(0, self._shown - self._total)]
        if text := self._decode(shown):
            self._on_output(text)
        room = max(0, self._limit // 2 - len(self._head))
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[room:])[-(self._limit - self._limit // 2) :]
        self._total += len(chunk)

    def text(self) -> str:
        """All of it, or both ends and a line between them that says how much is missing."""
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)  # without half a character
        tail = self._tail.lstrip(_CONTINUATION).decode("utf-8", "replace")
        return f"{head}\n[… {self._total - self._limit} bytes left out …]\n{tail}"
