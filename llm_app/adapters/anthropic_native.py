"""Anthropic messages with native tool use."""

from typing import Any

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.anthropic_parser import AnthropicParser
from llm_app.adapters.anthropic_thinking import signed_blocks, thinking_fits
from llm_app.adapters.base import Adapter, Endpoint, RouteParameters
from llm_app.adapters.strict_schema import strict_form
from llm_app.cache_boundary import split_at_marker
from llm_app.text_calls.writing import object_in
from llm_app.transport import wire
from llm_app.types import Message, Prompt, ToolCall, ToolSpec

_EPHEMERAL = {"type": "ephemeral"}
_LEAST_BUDGET = 1024  # tokens of thinking; the protocol refuses less


class AnthropicNative(Adapter):
    """Cache points come after the stable part of the system prompt and after the newest message.

    Quirks, as data on the route:

    cache_points: false where `cache_control` is refused.
    strict_tools: true where the provider holds calls to their schemas; tools whose schema it cannot say stay as they
        are.
    """

    name = "anthropic_native"
    label = "Anthropic messages, native tool calls"

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        blocks = self._blocks(message, parameters)
        role = "assistant" if message.role == "assistant" else "user"
        return orjson.dumps({"role": role, "content": blocks}) if blocks else b""

    def _blocks(self, message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
        if message.role == "tool":
            return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": result_content(message)}]
        blocks = signed_blocks(message, parameters.model)
        if message.content.strip():
            blocks.append({"type": "text", "text": message.content})
        if call := message.tool_call:
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)})
        return blocks + picture_blocks(message)

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        head = orjson.dumps(self._head(prompt, parameters))
        messages = self.encoded(prompt, parameters)
        if messages and _has_cache_points(parameters):
            messages[-1] = _with_cache_point(messages[-1])
        return head[:-1] + b',"messages":[' + b",".join(messages) + b"]}"

    def _head(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        head: dict[str, Any] = {"model": parameters.model, "stream": True, "max_tokens": parameters.max_tokens}
        if parameters.temperature is not None:
            head["temperature"] = parameters.temperature
        if parameters.thinking_budget:
            budget = max(parameters.thinking_budget, _LEAST_BUDGET)
            head["thinking"] = {"type": "enabled", "budget_tokens": budget}
            head["max_tokens"] = max(parameters.max_tokens, budget + 1024)
            head.pop("temperature", None)  # the protocol refuses both together
        head |= extra_body.allowed_fields(parameters.extra_body)
        if "thinking" in head and not self._may_think(prompt, parameters):
            del head["thinking"]
        return head | {"system": _system(prompt, parameters)} | self._tools(prompt, parameters)

    def _may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        return thinking_fits(prompt.messages, parameters.model)

    def _tools(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """The fields that tell the model of the tools."""
        is_strict = bool(parameters.quirks.get("strict_tools"))
        return {"tools": [_tool(tool, is_strict=is_strict) for tool in prompt.tools]} if prompt.tools else {}

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "anthropic-version": "2023-06-01",
            "x-api-key": endpoint.api_key,
        }
        url = f"{endpoint.base_url.rstrip('/').removesuffix('/v1')}/v1/messages"
        return wire.HTTPRequest(url=url, headers=headers | dict(endpoint.extra_headers), body=body)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> AnthropicParser:
        return AnthropicParser(parameters.model, prompt.tool_names)


def _system(prompt: Prompt, parameters: RouteParameters) -> list[dict[str, Any]]:
    """The stable part, a cache point, the dynamic part; the protocol refuses empty ones."""
    stable, dynamic = ({"type": "text", "text": part} for part in split_at_marker(prompt.system))
    point = {"cache_control": _EPHEMERAL} if _has_cache_points(parameters) else {}
    return [part for part in (stable | point, dynamic) if str(part["text"]).strip()]


def _tool(tool: ToolSpec, *, is_strict: bool) -> dict[str, Any]:
    strict = strict_form(tool.parameters) if is_strict else None
    schema = {"input_schema": strict, "strict": True} if strict else {"input_schema": tool.parameters}
    return {"name": tool.name, "description": tool.description, **schema}


def _input(call: ToolCall) -> Any:
    """The protocol takes objects only; an object goes back as the model wrote it."""
    value = object_in(call.arguments)
    return value if "unreadable_arguments" in value else orjson.Fragment(call.arguments)


def _has_cache_points(parameters: RouteParameters) -> bool:
    return bool(parameters.quirks.get("cache_points", True))


def _with_cache_point(message: bytes) -> bytes:
    """Marks the last block of an encoded message, whose bytes end in '}]}'."""
    return message[:-3] + b',"cache_control":{"type":"ephemeral"}}]}'


def picture_blocks(message: Message) -> list[dict[str, Any]]:
    """Each picture after a line that names it."""
    blocks: list[dict[str, Any]] = []
    for picture in message.pictures:
        source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
        blocks += [{"type": "text", "text": picture.label}, {"type": "image", "source": source}]
    return blocks


def result_content(message: Message) -> str | list[dict[str, Any]]:
    """The content of a result: its words alone, or with pictures; the protocol refuses empty words beside pictures."""
    if not message.pictures:
        return message.content
    words = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return [*words, *picture_blocks(message)]
