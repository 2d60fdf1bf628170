"""Many at once, through the real server: a burst of messages, a hundred conversations, and stops while text streams.

python -m benchmarks.crowd [POSTS CONVERSATIONS]
"""

import asyncio
import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.server import Server

COUNTS = 200, 100  # posts, conversations
STEPS, STOPS, AT_ONCE = 10, 20, 16
THINKING = 0.7  # seconds that the provider takes; one turn more than STEPS, so the ideal is 7.7 s
_CONFIG = """
limits: {{max_iterations: 100}}
providers: [{{name: fake, protocol: openai_native, base_url: "{address}/v1", api_key: x}}]
models:
  - {{name: quick, providers: [{{provider: fake, model: quick}}]}}
  - {{name: steps, providers: [{{provider: fake, model: steps}}]}}
  - {{name: endless, providers: [{{provider: fake, model: endless}}]}}
"""
_NO_LIMITS = {"AGENTSITE_MAX_RUNNING": "1000", "AGENTSITE_MAX_RUNNING_PER_USER": "1000"}


class _Provider:
    """Answers by the model's name; `closed` has the moment at which each endless answer's socket was closed."""

    def __init__(self) -> None:
        self.open, self.closed = 0, list[float]()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        if body["model"] == "endless":
            await self._stream(reader, writer)
        else:
            await self._turn(body, writer)
        writer.close()

    async def _turn(self, body: Any, writer: asyncio.StreamWriter) -> None:
        done = sum(message["role"] == "tool" for message in body["messages"])
        if body["model"] == "steps":
            await asyncio.sleep(THINKING)
        is_step = body["model"] == "steps" and done < STEPS
        arguments = json.dumps({"type": "info" if is_step else "result", "text": f"step {done}"})
        call = {
            "index": 0,
            "id": f"c{done}",
            "type": "function",
            "function": {"name": "message", "arguments": arguments},
        }
        for delta, finish in (({"role": "assistant", "tool_calls": [call]}, None), ({}, "tool_calls")):
            writer.write(_event(delta, finish))
        writer.write(b"data: [DONE]\n\n")

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        closing = asyncio.create_task(reader.read())
        while not closing.done():
            writer.write(_event({"content": "word "}, None))
            await asyncio.wait({closing}, timeout=0.05)
        await asyncio.gather(closing, return_exceptions=True)  # it may have been reset
        self.closed.append(time.monotonic())

    @contextmanager
    def running(self) -> Iterator[str]:
        loop = asyncio.new_event_loop()
        server = loop.run_until_complete(asyncio.start_server(self.answer, "127.0.0.1", 0, backlog=1000))
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


def _event(delta: object, finish: str | None) -> bytes:
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def report(posts: int = COUNTS[0], conversations: int = COUNTS[1]) -> None:
    """Bars: 12 s for the conversations, 200 MiB; 100 ms from a stop to the closed socket on a machine that rests."""
    provider = _Provider()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="agentsite-crowd-"))
        config = _CONFIG.format(address=stack.enter_context(provider.running()))
        server = stack.enter_context(Server.running(Path(folder), config, **_NO_LIMITS))
        _converse(server, "quick", 1)
        took, waits = _converse(server, "quick", posts)
        print(
            f"{posts} posts at once: {took:.1f} s until all are done, a post waits {_p95(waits):.0f} ms at p95",
            flush=True,
        )
        before = server.cpu()
        took, waits = _converse(server, "steps", conversations)
        cpu = (server.cpu() - before) / conversations / (STEPS + 1)
        ideal = THINKING * (STEPS + 1)
        said = f"{took:.1f} s, {took / ideal:.2f} of the ideal, a post waits {_p95(waits):.0f} ms at p95"
        most = max(server.peak_memory().values())
        print(f"{conversations} conversations of {STEPS} iterations: {said}, {most:.0f} MiB at most")
        print(f"  CPU of the server, with posts and questions for states: {cpu:.2f} ms an iteration", flush=True)
        print(f"stop to closed socket, {STOPS} streams: {_p95(_stopped(server, provider)):.0f} ms at p95", flush=True)


def _converse(server: Server, model: str, count: int) -> tuple[float, list[float]]:
    """Seconds until all are done, and how long each post waited for its answer, in ms."""
    sessions = [server.session(model) for _ in range(count)]

    def post(session: str) -> tuple[str, float]:
        began = time.monotonic()
        task = server.call("POST", f"sessions/{session}/messages/", {"content": "go"})["task"]
        return str(task), 1000 * (time.monotonic() - began)

    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        posted = list(threads.map(post, sessions))
    for task, _ in posted:
        while (state := server.call("GET", f"tasks/{task}/")["state"]) != "done":
            if state == "failed":
                raise AssertionError("a task has failed")
            time.sleep(0.1)
    return time.monotonic() - began, [wait for _, wait in posted]


def _stopped(server: Server, provider: _Provider) -> list[float]:
    """Milliseconds of each, one after the other, while the others stream."""
    posts = [
        server.call("POST", f"sessions/{server.session('endless')}/messages/", {"content": "go"}) for _ in range(STOPS)
    ]
    while provider.open < STOPS:
        time.sleep(0.05)
    delays = []
    for number, post in enumerate(posts):
        began = time.monotonic()
        server.call("POST", f"tasks/{post['task']}/stop/")
        while len(provider.closed) <= number:
            time.sleep(0.005)
        delays.append(1000 * (provider.closed[number] - began))
    return delays


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[18] if len(values) > 1 else values[0]


if __name__ == "__main__":
    report(*map(int, sys.argv[1:]))
