"""The Anthropic Messages API with native tool use and signed thinking."""

from collections.abc import Sequence
from typing import Any, ClassVar

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.anthropic_parser import AnthropicParser
from llm_app.adapters.base import Adapter, Endpoint, RouteParameters
from llm_app.adapters.schema_forms import strict_form
from llm_app.base_address import versioned_address
from llm_app.cache_boundary import split_at_marker
from llm_app.text_calls.writing import object_in
from llm_app.transport import wire
from llm_app.types import Message, Prompt, ToolMode


def thinking_blocks(message: Message, parameters: RouteParameters, protocol: str = "anthropic") -> list[dict[str, Any]]:
    """Return the thinking blocks of a message with a call.

    Sealed blocks are sent unchanged. Unsigned thinking is sent if the route accepts it, to any account of its
    protocol and model.
    """
    if message.tool_call is None:
        return []
    if blocks := own_blocks(message, parameters, protocol):
        return blocks
    thinking = message.thinking
    is_own = thinking is not None and thinking.is_from(protocol, parameters.model)
    if thinking and is_own and thinking.text and parameters.quirks.get("unsigned_thinking"):
        return [{"type": "thinking", "thinking": thinking.text}]
    return [{"type": "thinking", "thinking": ""}] if parameters.needs_thinking_of_all_calls else []


def own_blocks(message: Message, parameters: RouteParameters, protocol: str) -> list[dict[str, Any]]:
    """Return the blocks of a message's thinking if this protocol, model and account made them."""
    thinking = message.thinking
    if thinking is None or not parameters.accepts_blocks(thinking, protocol):
        return []
    return [dict(block) for block in thinking.blocks]


def thinking_fits(messages: Sequence[Message], parameters: RouteParameters, protocol: str = "anthropic") -> bool:
    """Return whether this request can ask for thinking.

    The API rejects thinking while the assistant's current turn begins with a call without signed thinking, for example
    a call of another model or one whose thinking was redacted. A turn contains everything after the last user text. The
    API may take a user text right after a tool result as part of that result, so the turn before it must fit as well.
    """
    for index in range(len(messages) - 1, -1, -1):
        message, previous = messages[index], messages[index - 1] if index else None
        follows_result = previous is not None and previous.role == "tool"
        if message.role == "user" and not follows_result:
            return True
        begins_turn = message.tool_call is not None and not follows_result
        if begins_turn and not thinking_blocks(message, parameters, protocol):
            return False
    return True


_EPHEMERAL = {"type": "ephemeral"}
SMALLEST_BUDGET = 1024  # thinking tokens; the API rejects less
_BINDING = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
_BINDING_BETA = "thinking-binding-controls-2026-08-01"  # the API rejects the field without this header


class AnthropicNative(Adapter):
    """The Anthropic Messages API. Cache points follow the stable part of the system prompt and the newest message.

    Quirks of a route:

    unsupported: fields that are never sent, such as ["temperature", "top_p"].
    tool_choice: "any" if each reply must be a call. While the model thinks, the API only accepts "auto".
    parallel_tool_calls: false to ask for one call at a time.
    thinking_form: "adaptive" if the model decides how much it thinks, and takes the budget only as an effort.
    thinking_is_bound: true if signed thinking is rejected after a change before it (of a setting, or by a cut). Then
        the API is asked to drop such thinking instead.
    unsigned_thinking: true if thinking without a signature goes back, too (DeepSeek, Kimi, GLM, MiniMax).
    complete_thinking: true if the provider thinks by default and requires its thinking before each call (DeepSeek).
        Thinking is switched off while the history has calls without it, such as those of another model.
    cache_points: false if `cache_control` is rejected.
    alternate_roles: true if consecutive messages of a role must be joined.
    strict_tools: true if the API enforces the schemas of calls. Tools whose schema has no strict form are sent
        unchanged.
    """

    name = "anthropic_native"
    label = "Anthropic messages, native tool calls"
    version: ClassVar[int] = 3
    null_means_omitted: ClassVar[bool] = True  # in strict schemas
    raises_limit: ClassVar[bool] = False  # whether a large thinking budget raises the limit of the output

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        blocks = self._content_blocks(message, parameters)
        role = "assistant" if message.role == "assistant" else "user"
        return orjson.dumps({"role": role, "content": blocks}) if blocks else b""

    def _content_blocks(self, message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
        if message.role == "tool":
            return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": result_content(message)}]
        blocks = thinking_blocks(message, parameters)
        if message.content.strip():
            blocks.append({"type": "text", "text": message.content})
        if call := message.tool_call:
            arguments: Any = object_in(call.arguments)
            if "unreadable_arguments" not in arguments:
                arguments = orjson.Fragment(call.arguments)  # exactly as the model wrote them
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
        return blocks + picture_blocks(message)

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        messages = self.encoded(prompt, parameters)
        if parameters.quirks.get("alternate_roles"):
            messages = _with_alternating_roles(messages)
        if messages and _has_cache_points(parameters):
            # Mark the last block. An encoded message ends in "}]}".
            messages[-1] = messages[-1][:-3] + b',"cache_control":{"type":"ephemeral"}}]}'
        return self.cached_prefix(prompt, parameters) + b",".join(messages) + b"]}"

    def prefix(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        return orjson.dumps(self._request_fields(prompt, parameters))[:-1] + b',"messages":['

    def _request_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        fields: dict[str, Any] = {"model": parameters.model, "stream": True, "max_tokens": parameters.max_tokens}
        if parameters.temperature is not None:
            fields["temperature"] = parameters.temperature
        if parameters.thinking_budget:
            budget = max(parameters.thinking_budget, SMALLEST_BUDGET)
            fields |= _thinking_fields(parameters, budget)
            if self.raises_limit:
                fields["max_tokens"] = max(parameters.max_tokens, budget + 1024)
            fields.pop("temperature", None)  # the protocol refuses both together
        fields |= extra_body.allowed_fields(parameters.extra_body)
        if not self.may_think(prompt, parameters):
            _switch_off_thinking(fields, parameters)
        if parameters.quirks.get("thinking_is_bound") and self.tool_mode is ToolMode.NATIVE:
            # Models that bind thinking also think by default, so `adaptive` changes nothing else.
            thinking = fields.get("thinking", {"type": "adaptive"})
            if thinking.get("type") != "disabled":
                fields["thinking"] = thinking | _BINDING
        tools = self._tool_fields(prompt, parameters)
        if tools and "tool_choice" not in fields:
            tools |= _tool_choice_fields(parameters, is_thinking="thinking" in fields)
        return parameters.without_unsupported(fields | {"system": _system_blocks(prompt, parameters)} | tools)

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        """Return whether the history allows thinking. Claude's adaptive thinking is allowed after any history.

        Source: platform.claude.com/docs/en/build-with-claude/adaptive-thinking.
        """
        if parameters.quirks.get("complete_thinking"):
            calls = (message for message in prompt.messages if message.tool_call)
            return all(thinking_blocks(message, parameters) for message in calls)
        is_adaptive = parameters.quirks.get("thinking_form") == "adaptive"
        return is_adaptive or thinking_fits(prompt.messages, parameters)

    def _tool_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """Return the request fields that declare the tools."""
        is_strict = bool(parameters.quirks.get("strict_tools"))
        tools = []
        for tool in parameters.declared(prompt.tools):
            strict = strict_form(tool.parameters, null_means_omitted=self.null_means_omitted) if is_strict else None
            schema = {"input_schema": strict, "strict": True} if strict else {"input_schema": tool.parameters}
            tools.append({"name": tool.name, "description": tool.description, **schema})
        return {"tools": tools} if tools else {}

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "anthropic-version": "2023-06-01",
            "x-api-key": endpoint.api_key,
        }
        extra_headers = dict(endpoint.extra_headers)
        if b'"block_binding"' in body.partition(b',"system":')[0]:
            betas = [extra_headers.get("anthropic-beta"), _BINDING_BETA]
            extra_headers["anthropic-beta"] = ",".join(filter(None, betas))
        return wire.HTTPRequest(
            url=versioned_address(endpoint.base_url, "messages"), headers=headers | extra_headers, body=body
        )

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> AnthropicParser:
        return AnthropicParser(parameters.model, prompt.tool_names)


def _with_alternating_roles(messages: Sequence[bytes]) -> list[bytes]:
    """Join the blocks of consecutive messages with the same role."""
    joined: list[bytes] = []
    for message in messages:
        head, _, blocks = message.partition(b'"content":[')
        if joined and joined[-1].startswith(head):
            joined[-1] = joined[-1][:-2] + b"," + blocks
        else:
            joined.append(message)
    return joined


def _system_blocks(prompt: Prompt, parameters: RouteParameters) -> list[dict[str, Any]]:
    """Return the system blocks: stable part, cache point, dynamic part. The API rejects empty blocks."""
    stable, dynamic = ({"type": "text", "text": part} for part in split_at_marker(prompt.system))
    point = {"cache_control": _EPHEMERAL} if _has_cache_points(parameters) else {}
    return [part for part in (stable | point, dynamic) if str(part["text"]).strip()]


def _thinking_fields(parameters: RouteParameters, budget: int) -> dict[str, Any]:
    """Return the thinking fields. Adaptive thinking is signed but hidden, unless a summary is requested."""
    if parameters.quirks.get("thinking_form") == "adaptive":
        adaptive = {"type": "adaptive", "display": "summarized"}
        return {"thinking": adaptive, "output_config": {"effort": parameters.thinking_effort}}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _switch_off_thinking(fields: dict[str, Any], parameters: RouteParameters) -> None:
    """Remove the request for thinking, or forbid it to a provider that thinks by default.

    DeepSeek rejects an effort then ("thinking options type cannot be disabled when reasoning_effort is set"):
    github.com/farion1231/cc-switch/pull/4239.
    """
    fields.pop("thinking", None)
    if parameters.quirks.get("complete_thinking"):
        fields.pop("output_config", None)
        fields["thinking"] = {"type": "disabled"}


def _tool_choice_fields(parameters: RouteParameters, *, is_thinking: bool) -> dict[str, Any]:
    choice, is_single = parameters.quirks.get("tool_choice"), parameters.quirks.get("parallel_tool_calls") is False
    if not choice and not is_single:
        return {}
    fields = {"type": "auto" if is_thinking or not choice else choice}
    return {"tool_choice": fields | ({"disable_parallel_tool_use": True} if is_single else {})}


def _has_cache_points(parameters: RouteParameters) -> bool:
    return bool(parameters.quirks.get("cache_points", True))


def picture_blocks(message: Message) -> list[dict[str, Any]]:
    """Return the picture blocks of a message, each after a line that names it."""
    blocks: list[dict[str, Any]] = []
    for picture in message.pictures:
        source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
        blocks += [{"type": "text", "text": picture.label}, {"type": "image", "source": source}]
    return blocks


def result_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the content of a tool result. The API rejects an empty text next to pictures."""
    if not message.pictures:
        return message.content
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return [*text, *picture_blocks(message)]
