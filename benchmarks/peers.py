"""The same calls with other libraries, used as their documentation says."""

import json
import os
import sys
from typing import Any

import aiohttp

from llm_app.types import Message

SYSTEM = {"role": "system", "content": "You are an agent. " * 700}
TOOL = {"name": "message", "description": "Speaks.", "parameters": {"type": "object", "properties": {}}}


async def floor(address: str, tokens: int, messages: list[Message]) -> None:
    """Build messages from dictionaries, send them with `json`, read and parse lines, and do nothing more."""
    text = ""
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{_url(address, tokens)}/chat/completions", data=json.dumps(_body(messages)).encode()
        ) as response,
    ):
        async for line in response.content:
            if line.startswith(b"data: {"):
                for call in json.loads(line[6:])["choices"][0]["delta"].get("tool_calls", []):
                    text += call["function"]["arguments"]
    assert json.loads(text)


async def openai_sdk(address: str, tokens: int, messages: list[Message]) -> None:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=_url(address, tokens), api_key="none", max_retries=0) as client:
        assert json.loads(await _arguments(await client.chat.completions.create(**_body(messages))))


async def litellm(address: str, tokens: int, messages: list[Message]) -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm as library

    library.disable_streaming_logging = True
    stream = await library.acompletion(
        **_body(messages) | {"model": "openai/m", "base_url": _url(address, tokens), "api_key": "none"}
    )
    assert json.loads(await _arguments(stream))


async def close() -> None:
    """Close litellm's clients, which belong to the event loop and would log warnings at the end of the process."""
    if library := sys.modules.get("litellm"):
        await library.close_litellm_async_clients()


async def _arguments(stream: Any) -> str:
    text = ""
    async for chunk in stream:
        for call in chunk.choices[0].delta.tool_calls or () if chunk.choices else ():
            text += call.function.arguments or ""
    return text


def _url(address: str, tokens: int) -> str:
    return f"{address}/field/{tokens}/v1"


def _body(messages: list[Message]) -> dict[str, Any]:
    tools = [{"type": "function", "function": TOOL}]
    return {"model": "m", "stream": True, "tools": tools, "messages": [SYSTEM, *map(_plain, messages)]}


def _plain(message: Message) -> dict[str, object]:
    if message.tool_call is None:
        return {"role": message.role, "content": message.content, "tool_call_id": message.tool_call_id}
    function = {"name": message.tool_call.name, "arguments": message.tool_call.arguments}
    return {
        "role": message.role,
        "tool_calls": [{"id": message.tool_call.id, "type": "function", "function": function}],
    }
