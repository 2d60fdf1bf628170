"""Concurrent load on the real server: a burst of messages, a hundred conversations, and stops while text streams.

python -m benchmarks.crowd [POSTS CONVERSATIONS WORKERS]   with WORKERS, a team on PostgreSQL and Redis
python -m benchmarks.crowd starts [RATE SECONDS WORKERS]   start RATE tasks per second for SECONDS
"""

import asyncio
import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.server import Server

COUNTS = 200, 100  # posts, conversations
STEPS, STOPS, AT_ONCE, STREAMS = 10, 20, 16, 10
THINKING = 0.7  # seconds per reply of the provider; with STEPS + 1 replies, the ideal is 7.7 s
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
    """A provider that answers by the model's name. `closed` has the times when endless answers lost their sockets."""

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
        await asyncio.gather(closing, return_exceptions=True)  # the socket may have been reset
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


@contextmanager
def _running(workers: int, limits: Mapping[str, str] = _NO_LIMITS) -> Iterator[tuple[Server, _Provider]]:
    provider = _Provider()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentsite-crowd-")))
        config = _CONFIG.format(address=stack.enter_context(provider.running()))
        start = Server.team(folder, config, workers, **limits) if workers else None
        server = stack.enter_context(start or Server.running(folder, config, **limits))
        _converse(server, "quick", 1)
        yield server, provider


def report(posts: int = COUNTS[0], conversations: int = COUNTS[1], workers: int = 0) -> None:
    """Print the results. Bars: 12 s for the conversations, 200 MiB, 100 ms from a stop to the closed socket."""
    with _running(workers) as (server, provider):
        took, waits = _converse(server, "quick", posts)
        print(
            f"{posts} posts at once: {took:.1f} s until all are done, a post waits {_p95(waits):.0f} ms at p95",
            flush=True,
        )
        before = server.cpu()
        took, waits = _converse(server, "steps", conversations, STREAMS)
        cpu = (server.cpu() - before) / conversations / (STEPS + 1)
        ideal = THINKING * (STEPS + 1)
        times = f"{took:.1f} s, {took / ideal:.2f} of the ideal, a post waits {_p95(waits):.0f} ms at p95"
        memory = ", ".join(f"{name} {size:.0f} MiB" for name, size in sorted(server.peak_memory().items()))
        print(f"{conversations} conversations of {STEPS} iterations, {STREAMS} followed: {times}; at most {memory}")
        print(f"  CPU of the server, with posts and questions for states: {cpu:.2f} ms an iteration", flush=True)
        print(f"stop to closed socket, {STOPS} streams: {_p95(_stopped(server, provider)):.0f} ms at p95", flush=True)


def report_starts(rate: int = 50, seconds: int = 20, workers: int = 0) -> None:
    """Print the results. Bar: no error at 50 per second. The default limits apply, so more tasks are queued."""
    with _running(workers, {}) as (server, _), ThreadPoolExecutor(AT_ONCE) as threads:
        sessions = list(threads.map(server.session, ["quick"] * rate * seconds))
        before, began = server.cpu(), time.monotonic()

        def post(number: int) -> tuple[str, float]:
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            posted_at = time.monotonic()
            return _post(server, sessions[number]), 1000 * (time.monotonic() - posted_at)

        posted = list(threads.map(post, range(len(sessions))))
        took = time.monotonic() - began
        _until_done(server, [task for task, _ in posted])
        waits = f"a post waits {_p95([wait for _, wait in posted]):.0f} ms at p95, no error"
        print(f"{len(posted)} tasks started in {took:.1f} s ({len(posted) / took:.0f}/s): {waits}")
        print(f"  all are done {time.monotonic() - began - took:.1f} s after the last was started", flush=True)
        print(f"  CPU of the server: {(server.cpu() - before) / len(posted):.1f} ms a start", flush=True)


def _post(server: Server, session: str) -> str:
    return str(server.call("POST", f"sessions/{session}/messages/", {"content": "go"})["task"])


def _converse(server: Server, model: str, count: int, streams: int = 0) -> tuple[float, list[float]]:
    """Return the seconds until all tasks are done and the wait of each post in ms, while `streams` are followed."""
    sessions = [server.session(model) for _ in range(count)]

    def post(session: str) -> tuple[str, float]:
        began = time.monotonic()
        return _post(server, session), 1000 * (time.monotonic() - began)

    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE + streams) as threads:
        following = [threads.submit(server.count_streamed_entries, session) for session in sessions[:streams]]
        posted = list(threads.map(post, sessions))
        _until_done(server, [task for task, _ in posted])
        took = time.monotonic() - began
        if any(entries.result() < 2 * STEPS for entries in following):
            raise AssertionError("a stream has missed entries")
    return took, [wait for _, wait in posted]


def _until_done(server: Server, tasks: Sequence[str]) -> None:
    for task in tasks:
        while (state := server.call("GET", f"tasks/{task}/")["state"]) != "done":
            if state == "failed":
                raise AssertionError("a task has failed")
            time.sleep(0.1)


def _stopped(server: Server, provider: _Provider) -> list[float]:
    """Stop streaming tasks one after the other. Return the milliseconds until each socket was closed."""
    tasks = [_post(server, server.session("endless")) for _ in range(STOPS)]
    while provider.open < STOPS:
        time.sleep(0.05)
    delays = []
    for number, task in enumerate(tasks):
        began = time.monotonic()
        server.call("POST", f"tasks/{task}/stop/")
        while len(provider.closed) <= number:
            time.sleep(0.005)
        delays.append(1000 * (provider.closed[number] - began))
    return delays


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[18] if len(values) > 1 else values[0]


if __name__ == "__main__":
    if sys.argv[1:2] == ["starts"]:
        report_starts(*map(int, sys.argv[2:]))
    else:
        report(*map(int, sys.argv[1:]))
