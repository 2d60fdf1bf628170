"""A provider on loopback that speaks every protocol and behaves badly now and then.

    python -m benchmarks.every_protocol PORT

Its answer depends only on the number of the request: words, files, questions, several calls at once, no call,
thinking, errors, streams that end too early. A model whose name ends in "-xml" or "-json" calls in its text.
"""

import asyncio
import json
import sys
from itertools import count

from benchmarks.fake_provider import FakeProvider

LATE_SECRET = "late-secret-7c1f0b2e"  # in the text of answers before it is saved as a secret
_numbers = count(1)
_WORDS = "The quick brown fox jumps over the lazy dog, ☂ and ö. "


def call_of(number: int) -> tuple[str, dict[str, object]]:
    """Return name and arguments of the call in answer `number`."""
    if number % 31 == 9:
        return "message", {"type": "ask", "text": f"Which of {number}?"}
    if number % 9 == 4:
        return "file", {"action": "write", "path": f"{number % 50}.txt", "content": _WORDS * (number % 40)}
    if number % 9 == 5:
        return "file", {"action": "list", "path": "."}
    if number % 37 == 1:
        return "nothing", {}
    secret = f" {LATE_SECRET}" if number % 41 == 2 else ""
    return "message", {"type": "info", "text": f"{number}.{secret} {_WORDS * (number % 30)}"}


class EveryProtocol(FakeProvider):
    def _answer(self, head: bytes, body: bytes) -> None:
        number, request = next(_numbers), json.loads(body)
        if number % 43 == 7:
            self._transport.write(b"HTTP/1.1 500 Oh no\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno")
            return
        name, arguments = call_of(number)
        build_events = _anthropic if head.startswith(b"POST /v1/messages") else _openai
        events = build_events(number, str(request["model"]), name, json.dumps(arguments), len(body))
        if number % 53 == 11:
            events = events[: len(events) // 2]
        self._stream(events)

    def _stream(self, events: list[dict[str, object]]) -> None:
        parts = []
        for event in events:
            named = f"event: {event['type']}\n" if "type" in event else ""
            parts.append(f"{named}data: {json.dumps(event)}\n\n".encode())
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._transport.write(head + chunks + b"0\r\n\r\n")


def _openai(number: int, model: str, name: str, arguments: str, size: int) -> list[dict[str, object]]:
    calls = _calls(number, name, arguments)
    deltas: list[dict[str, object]] = [{"reasoning_content": f"Hm, {number}."}] if number % 3 == 0 else []
    if number % 17 == 3:
        deltas.append({"content": "I would rather chat."})
    elif model.endswith("-json"):
        deltas.append({"content": f'{{"tool": "{name}", "arguments": {arguments}}}'})
    else:
        for index, (call_id, function) in enumerate(calls):
            deltas.append({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
    usage = {"prompt_tokens": size // 4, "completion_tokens": 20}
    choices = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*choices, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}]


def _anthropic(number: int, model: str, name: str, arguments: str, size: int) -> list[dict[str, object]]:
    blocks: list[tuple[dict[str, object], list[dict[str, object]]]] = []
    if number % 3 == 0 and not model.endswith("-xml"):
        thought = [{"type": "thinking_delta", "thinking": f"Hm, {number}."}]
        thought.append({"type": "signature_delta", "signature": f"s{number}"})
        blocks.append(({"type": "thinking", "thinking": ""}, thought))
    if number % 17 == 3 or model.endswith("-xml"):
        text = "I would rather chat." if number % 17 == 3 else _xml(name, arguments)
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]))
    else:
        for call_id, function in _calls(number, name, arguments):
            begin = {"type": "tool_use", "id": call_id, "name": function["name"], "input": {}}
            blocks.append((begin, [{"type": "input_json_delta", "partial_json": function["arguments"]}]))
    usage = {"input_tokens": size // 4, "output_tokens": 1}
    events: list[dict[str, object]] = [{"type": "message_start", "message": {"usage": usage, "content": []}}]
    for index, (begin, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": begin})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}
    return [*events, end, {"type": "message_stop"}]


def _calls(number: int, name: str, arguments: str) -> list[tuple[str, dict[str, str]]]:
    calls = [(f"call_{number}", {"name": name, "arguments": arguments})]
    second = (f"call_{number}_2", {"name": "file", "arguments": '{"action": "list", "path": "."}'})
    return [*calls, second] if number % 13 == 6 else calls


def _xml(name: str, arguments: str) -> str:
    fields = json.loads(arguments).items()
    lines = "".join(f'<parameter name="{field}">{value}</parameter>\n' for field, value in fields)
    return f'<function_calls>\n<invoke name="{name}">\n{lines}</invoke>\n</function_calls>'


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(EveryProtocol, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
