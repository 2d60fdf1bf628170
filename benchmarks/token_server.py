"""A provider that sends tokens one by one, each in a separate packet, in the streams of both protocols.

    python -m benchmarks.token_server

It prints its port. `POST …/N/v1/…` is answered with N tokens of a `message` call, which a path with `text` puts into
the text. With `stamped`, each token is its time of sending, and they come slowly, in paragraphs. With `quick`, they
are also times, but come as fast as the others.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

PACE, SLOW_PACE = 0.0005, 0.02  # seconds between two tokens
PARAGRAPH = 50  # tokens
_TOKEN = "word "
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_XML = '<function_calls><invoke name="message"><parameter name="text">', "</parameter></invoke></function_calls>"
_JSON = '{"tool": "message", "arguments": {"text": "', '"}}'


@contextmanager
def running(module: str = "benchmarks.token_server", *arguments: str) -> Iterator[str]:
    """Run a server in a separate process, which prints its port first. Yield its address."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def openai(count: int, *, is_text: bool) -> Iterator[object]:
    before, after = _JSON if is_text else ('{"text": "', '"}')
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "message", "arguments": ""}}
    if not is_text:
        yield _chunk({"role": "assistant", "tool_calls": [call]})
    for token in [before, *[_TOKEN] * count, after]:
        delta = {"content": token} if is_text else {"tool_calls": [{"index": 0, "function": {"arguments": token}}]}
        yield _chunk(delta)
    yield _chunk({}, "stop")


def anthropic(count: int, *, is_text: bool) -> Iterator[object]:
    before, after = _XML if is_text else ('{"text": "', '"}')
    block = {"type": "text", "text": ""} if is_text else {"type": "tool_use", "id": "t", "name": "message", "input": {}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for token in [before, *[_TOKEN] * count, after]:
        delta = (
            {"type": "text_delta", "text": token} if is_text else {"type": "input_json_delta", "partial_json": token}
        )
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": count}}
    yield {"type": "message_stop"}


def stamped(count: int) -> Iterator[object]:
    """Yield the chunks of a result whose words are times, from the clock that all processes of a machine share."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "message", "arguments": ""}}
    yield _chunk({"role": "assistant", "tool_calls": [call]})
    for number in range(count + 2):
        end = r"\n\n" if number % PARAGRAPH == 0 else " "
        token = (
            f"@{time.monotonic():.4f}{end}"
            if 0 < number <= count
            else '{"type": "result", "text": "'
            if not number
            else '"}'
        )
        yield _chunk({"tool_calls": [{"index": 0, "function": {"arguments": token}}]})
    yield _chunk({}, "tool_calls")


def _chunk(delta: dict[str, object], finish: str | None = None) -> object:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)
    path = head.split(b" ")[1].decode()
    count, is_stamped = int(path.split("/")[2]), path.startswith(("/stamped/", "/quick/"))
    events = anthropic if path.endswith("/messages") else openai
    writer.write(_HEAD)
    for event in stamped(count) if is_stamped else events(count, is_text=path.startswith("/text/")):
        writer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        await asyncio.sleep(SLOW_PACE if path.startswith("/stamped/") else PACE)
    writer.close()


async def serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
