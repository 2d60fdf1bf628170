"""A provider on loopback that is as fast as possible, so that the time between its answers is the engine's.

    python -m benchmarks.fake_provider PORT

The model `loop-N` calls `message` (info) N times, then hands over a result; `loop-NxB` with B bytes of text in each,
and `list-N` calls `file` (list) instead, which an engine awaits.
`GET /stats` returns for each request its arrival and the end of its answer (monotonic seconds), its bytes, and the
bytes that it shares with the beginning of the previous one. `POST /reset` clears these records. Of the protocol, it
speaks only streamed chat completions.
"""

import asyncio
import json
import re
import sys
import time

RECORDS: list[tuple[float, float, int, int]] = []
_MODEL = re.compile(rb'"model":"(loop|list)-(\d+)(?:x(\d+))?"')
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
)


class FakeProvider(asyncio.Protocol):
    """A minimal HTTP/1.1 server: requests with Content-Length, one at a time on a connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._previous = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (request := self._request()) is not None:
            self._answer(*request)

    def _request(self) -> tuple[bytes, bytes] | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._buffer[:end])
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        size = end + 4 + (int(length[1]) if length else 0)
        if len(self._buffer) < size:
            return None
        body = bytes(self._buffer[end + 4 : size])
        del self._buffer[:size]
        return head, body

    def _answer(self, head: bytes, body: bytes) -> None:
        arrival = time.perf_counter()
        if head.startswith(b"POST /reset"):
            RECORDS.clear()
            self._json({})
        elif head.startswith(b"GET /stats"):
            self._json(RECORDS)
        else:
            repeated, self._previous = _common_prefix(self._previous, body), body
            self._turn(body)
            RECORDS.append((arrival, time.perf_counter(), len(body), repeated))

    def _turn(self, body: bytes) -> None:
        model = _MODEL.search(body)
        steps, done = int(model[2]) if model else 0, len(RECORDS)
        kind, text = ("info", f"step-{done}") if done < steps else ("result", f"done after {done}")
        text += " word" * (int(model[3] or 0) // 5 if model else 0)
        name, arguments = "message", {"type": kind, "text": text}
        if model and model[1] == b"list" and done < steps:
            name, arguments = "file", {"action": "list", "path": ".", "limit": done + 1}  # never the same call
        call = {"index": 0, "id": f"call_{done}_{len(body)}", "type": "function"}
        parts = [
            _chunk({"role": "assistant", "tool_calls": [call | {"function": {"name": name, "arguments": ""}}]}),
            _chunk({"tool_calls": [{"index": 0, "function": {"arguments": json.dumps(arguments)}}]}),
            _chunk({}, "tool_calls", {"prompt_tokens": len(body) // 4, "completion_tokens": 20}),
            b"data: [DONE]\n\n",
        ]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        self._transport.write(_HEAD + chunks + b"0\r\n\r\n")

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode()
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        self._transport.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))


def _common_prefix(before: bytes, now: bytes) -> int:
    """Return the length of the common beginning in bytes."""
    low, high = 0, min(len(before), len(now))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == now[:middle] else (low, middle - 1)
    return low


def _chunk(delta: dict[str, object], finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk | ({"usage": usage} if usage else {})).encode() + b"\n\n"


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(FakeProvider, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
