"""The CPU time of the LLM layer per streamed token, and per call with 100 earlier turns and 50 secrets.

It is compared with a minimal loop on aiohttp, OpenAI's SDK and litellm, on the same stream and messages.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any, TypeVar

from benchmarks import peers, token_server
from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.protocols import adapter_for
from llm_app.redaction import Redactor, StreamRedactor
from llm_app.redaction.prompt import redacted_prompt
from llm_app.transport import wire
from llm_app.types import Message, Prompt, ToolCall, ToolSpec
from tasks_app.runtime.event_loop import Uninterrupted

TOKENS, CALLS, TURNS = 2_000, 40, 100
PROTOCOLS = {"openai_native": "field", "json_schema": "text", "anthropic_native": "field", "anthropic_xml": "text"}
TOOLS = (ToolSpec(name="message", description="Speaks.", parameters={"type": "object", "properties": {}}),)
PARAMETERS = RouteParameters(model="m", max_tokens=1000)
SYSTEM = "You are an agent. " * 700


def report() -> None:
    """Print a table. Bars: 80 µs per token, 5 ms per call."""
    redactor = Redactor([(f"secret{number}", f"s3cr3t-{number:04}-{number * 7919:012}") for number in range(50)])
    print(f"LLM layer, CPU            µs a token  ms a call ({TURNS} turns)")
    with token_server.running() as address:
        _print_awaited("aiohttp alone", peers.floor, address)
        for protocol, kind in PROTOCOLS.items():
            _print(protocol, _ours(protocol, kind, None), address)
        _print("openai_native, 50 secrets", _ours("openai_native", "field", redactor), address)
        _print_awaited("openai SDK", peers.openai_sdk, address)
        _print_awaited("litellm", peers.litellm, address)


T = TypeVar("T")
Ask = Callable[[str, int, list[Message]], T]


def _print(name: str, ask: Ask[None], address: str) -> None:
    a_token = _measure(ask, address, TOKENS, calls=1) / TOKENS
    a_call = _measure(ask, address, 1, calls=CALLS) / CALLS
    print(f"{name:<26} {a_token * 1e6:9.1f} {a_call * 1e3:10.2f}", flush=True)


def _print_awaited(name: str, ask: Ask[Coroutine[Any, Any, None]], address: str) -> None:
    with asyncio.Runner() as runner:
        _print(name, lambda *call: runner.run(ask(*call)), address)
        runner.run(peers.close())


def _measure(ask: Ask[None], address: str, tokens: int, calls: int) -> float:
    """Return the CPU seconds of the calls, each one turn longer than the previous one. A first call is not counted."""
    messages = _turns(0, TURNS)
    ask(address, 1, messages)
    began = time.process_time()
    for number in range(calls):
        ask(address, tokens, messages)
        messages += _turns(TURNS + number, 1)
    used = time.process_time() - began
    wire.close()
    return used


def _turns(first: int, count: int) -> list[Message]:
    messages = []
    for number in range(first, first + count):
        call = ToolCall(id=f"call_{number}", name="message", arguments=json.dumps({"text": "word " * 60}))
        messages.append(Message(role="assistant", content="", tool_call=call))
        messages.append(Message(role="tool", content="line of output\n" * 100, tool_call_id=call.id))
    return messages


def _ours(protocol: str, kind: str, redactor: Redactor | None) -> Ask[None]:
    adapter = adapter_for(protocol)

    def ask(address: str, tokens: int, messages: list[Message]) -> None:
        prompt = Prompt(system=SYSTEM, tools=TOOLS, messages=messages)
        prompt = redacted_prompt(prompt, redactor).prompt if redactor else prompt
        body, parser = adapter.body(prompt, PARAMETERS), adapter.parser(PARAMETERS, prompt)
        stream = StreamRedactor(redactor) if redactor else None
        with closing(
            adapter.events(body, Endpoint(base_url=f"{address}/{kind}/{tokens}/v1"), Uninterrupted())
        ) as events:
            for event in events:
                for delta in parser.feed(event):
                    if stream:
                        stream.feed(delta.text)
        assert parser.result().tool_calls

    return ask
