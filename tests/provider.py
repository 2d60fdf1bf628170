"""A provider on loopback that sends a test's replies over real HTTP and server-sent events."""

import json
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.db import connections

PAUSE = b": pause"  # as a chunk: nothing more is sent until the test calls `go_on()`


@dataclass
class Reply:
    """One reply. It stalls before chunk number `stall_at`. `cut` omits the end."""

    chunks: list[bytes] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    stall_at: int | None = None
    stall_s: float = 30
    cut: bool = False


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # many calls at a time must not wait in the queue


class FakeProvider:
    """A provider that gives `replies` in order, and repeats the last one. A reply can be a function of the request.

    `model_list` answers every GET. `hung_up` is set when a client leaves early.
    """

    def __init__(self) -> None:
        self.replies: list[Reply | Answer] = []
        self.model_list: Reply | Answer = Reply(status=404)
        self.received: list[Received] = []
        self.asked: list[Received] = []
        self.arrived = threading.Event()
        self.stalling = threading.Event()
        self.hung_up = threading.Event()
        self._going_on = threading.Semaphore(0)
        self._server = _Server(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def go_on(self) -> None:
        """End one pause."""
        self._going_on.release()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                received = Received(self.path, dict(self.headers), raw)
                provider.received.append(received)
                provider.arrived.set()
                reply = provider.replies.pop(0) if len(provider.replies) > 1 else provider.replies[0]
                provider._answer(self, reply(received) if callable(reply) else reply)

            def do_GET(self) -> None:
                received = Received(self.path, dict(self.headers), b"")
                provider.asked.append(received)
                reply = provider.model_list
                provider._answer(self, reply(received) if callable(reply) else reply)

            def finish(self) -> None:
                super().finish()
                connections.close_all()  # of this thread, whose reply can have read rows

            def log_message(self, *args: Any) -> None:
                pass

        return Handler

    def _answer(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.send_response(reply.status)
        handler.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        try:
            for number, chunk in enumerate([*reply.chunks, b""]):
                if number == reply.stall_at:
                    self._stall(handler, reply.stall_s)
                if chunk == PAUSE:
                    self._stall(handler, 60)
                    continue
                handler.wfile.write(chunk)
                handler.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.hung_up.set()

    def _stall(self, handler: BaseHTTPRequestHandler, seconds: float) -> None:
        self.stalling.set()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._going_on.acquire(blocking=False):
            readable, _, _ = select.select([handler.connection], [], [], 0.01)
            if readable:
                self.hung_up.set()
                raise BrokenPipeError


@contextmanager
def running() -> Iterator[FakeProvider]:
    provider = FakeProvider()
    try:
        yield provider
    finally:
        provider.close()


def models(*rows: "str | dict[str, Any]", **fields: Any) -> Reply:
    """Return a list of models in OpenAI's form, with further fields for some."""
    data = [row if isinstance(row, dict) else {"id": row, "object": "model", "owned_by": "them"} for row in rows]
    body = json.dumps({"object": "list", "data": data, **fields}).encode()
    return Reply(chunks=[body], content_type="application/json")


# --- replies of an OpenAI-compatible provider ----------------------------------------------------------------------


def sse(*events: object) -> list[bytes]:
    return [b"data: " + (e.encode() if isinstance(e, str) else json.dumps(e).encode()) + b"\n\n" for e in events]


def openai_chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **fields,
    }


def openai_call(name: str, arguments: object, *, call_id: str = "call_1", pieces: int = 3, **reply: Any) -> Reply:
    """Return a reply with one native call, its arguments in several chunks."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    size = max(1, len(text) // pieces)
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    begin = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
    events = [openai_chunk({"role": "assistant", "tool_calls": [begin]})]
    events += [openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in parts]
    end = [] if reply.get("cut") else [openai_chunk({}, "tool_calls", usage=usage), "[DONE]"]
    return Reply(chunks=sse(*events, *end), **reply)


def openai_text(text: str, **reply: Any) -> Reply:
    return Reply(chunks=sse(openai_chunk({"content": text}), openai_chunk({}, "stop"), "[DONE]"), **reply)


def openai_result(text: str = "Done.", **reply: Any) -> Reply:
    return openai_call("message", {"type": "result", "text": text}, call_id=f"call_{time.monotonic_ns()}", **reply)


def openai_embeddings(vector_of: "Callable[[str], list[float]]", *, tokens: int = 5) -> "Answer":
    """Return the vector of each text, out of order: the index identifies the text."""

    def answer(received: Received) -> Reply:
        assert received.path.endswith("/embeddings")
        rows = [{"index": n, "embedding": vector_of(text)} for n, text in enumerate(received.body["input"])]
        said = {"data": rows[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
        return Reply(chunks=[json.dumps(said).encode()], content_type="application/json")

    return answer


Answer = Callable[[Received], Reply]
