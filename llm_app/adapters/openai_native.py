"""OpenAI chat completions with native tool calls, also used by vLLM, Ollama, llama.cpp, DeepSeek and most gateways."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.base import Adapter, Endpoint, RouteParameters
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.adapters.role_order import (
    AFTER_TOOL,
    alternate_roles,
    merge_user_messages,
    needs_assistant_after_tool,
    put_assistant_after_tool,
)
from llm_app.adapters.schema_forms import openapi_form, strict_form
from llm_app.adapters.turn_parser import TurnParser
from llm_app.base_address import is_host_below
from llm_app.cache_boundary import without_marker
from llm_app.text_calls.writing import object_in
from llm_app.transport import wire
from llm_app.types import Message, Picture, Prompt, ToolCall, ToolMode, ToolSpec


class OpenAINative(Adapter):
    """The chat completions API. `llm_app.call.families` has the quirks of known models.

    Quirks of a route:

    unsupported: fields that are never sent, such as ["temperature", "top_p"].
    tool_choice: the value sent with tools, such as "required"; by default the field is omitted.
    parallel_tool_calls: false to ask for one call at a time; by default the field is omitted.
    reasoning_effort: the value sent with tools, regardless of the thinking budget ("none" if no other value is
        accepted).
    thinking_field: the field that takes earlier thinking: "reasoning_content" (DeepSeek, Kimi), "reasoning" or
        "reasoning_details" (OpenRouter). By default, thinking is not sent back.
    complete_thinking: true if the provider requires the thinking of each call, and rejects an empty one (DeepSeek V4).
        Thinking is switched off while the history has calls without it, such as those of another model.
    thinking_budget_field: the field for the thinking budget, such as "reasoning.max_tokens" (OpenRouter) or
        "thinking_budget" (DashScope). By default, the budget is not sent.
    thinking_effort_field: the field for the budget as an effort (low, medium, high), such as "reasoning_effort".
    thinking_end: the closing tag of thinking, such as "</think>", if the chat template already opens the thinking.
    max_tokens_field: "max_tokens" (default) or "max_completion_tokens".
    stream_usage: false if `stream_options` is rejected.
    alternate_roles: true if the roles must alternate (chat templates of Gemma and Mistral). Consecutive messages of a
        role are joined, and an assistant's message precedes a user's message after a result.
    assistant_after_tool: true if only the latter is needed (Mistral).
    merge_user_messages: true if only consecutive messages of a user are to be joined.
    content_is_text: true if the content next to a call must be a text, even an empty one (Cloudflare).
    strict_tools: true if the provider enforces the schemas of calls (OpenAI). Tools whose schema has no strict form are
        sent unchanged.
    openapi_schemas: true if tool schemas may only use the keywords of OpenAPI (Gemini).
    call_id_length: the exact length of call ids in letters and digits (9 at Mistral). Ids are hashed to this length.
    call_id_most: the maximum length of call ids (40 at OpenAI). Longer ids, of other providers, are hashed to this
        length.
    thought_signatures: true if each call needs a signature (Gemini 3). Calls of other models get a placeholder.
    """

    name = "openai_native"
    label = "OpenAI chat completions, native tool calls"
    version: ClassVar[int] = 3
    null_means_omitted: ClassVar[bool] = True  # in strict schemas
    thinking_protocol: ClassVar[str] = OpenAIParser.protocol  # of the thinking that goes back

    # --- messages ----------------------------------------------------------------------------------------------------

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        has_content = bool(message.content.strip() or message.tool_call or message.pictures)
        if not has_content and message.role != "tool":
            return b""
        encoded = list(map(orjson.dumps, with_pictures(self._message_fields(message, parameters), message.pictures)))
        if len(encoded) > 1 and needs_assistant_after_tool(parameters):  # the pictures of a result, from a user
            encoded.insert(1, AFTER_TOOL)
        return b",".join(encoded)

    def _message_fields(self, message: Message, parameters: RouteParameters) -> dict[str, Any]:
        fields: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_call:
            fields["content"] = message.content or ("" if parameters.quirks.get("content_is_text") else None)
            fields["tool_calls"] = [self._call_fields(message, message.tool_call, parameters)]
        if message.role == "tool":
            fields["tool_call_id"] = _call_id(message.tool_call_id, parameters)
        return fields | _thinking_fields(message, parameters, self.thinking_protocol)

    def _call_fields(self, message: Message, call: ToolCall, parameters: RouteParameters) -> dict[str, Any]:
        arguments = self._arguments(call)
        function = {"name": call.name, "arguments": arguments}
        fields = {"id": _call_id(call.id, parameters), "type": "function", "function": function}
        return fields | _signature_fields(message, parameters, is_unchanged=arguments == call.arguments)

    def _arguments(self, call: ToolCall) -> str:
        """Return the arguments as a JSON object, because servers that parse the history reject anything else.

        Valid objects are sent exactly as the model wrote them.
        """
        value = object_in(call.arguments)
        return orjson.dumps(value).decode() if "unreadable_arguments" in value else call.arguments

    # --- requests ----------------------------------------------------------------------------------------------------

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """Return the request body. Messages come last, so each request begins with the bytes of the previous one."""
        messages = self.encoded(prompt, parameters)
        if parameters.quirks.get("alternate_roles"):
            messages = alternate_roles(messages)
        elif needs_assistant_after_tool(parameters):
            messages = put_assistant_after_tool(messages)
        elif parameters.quirks.get("merge_user_messages"):
            messages = merge_user_messages(messages)
        return b",".join([self.cached_prefix(prompt, parameters), *messages]) + b"]}"

    def prefix(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        fields = orjson.dumps(self._request_fields(prompt, parameters))
        system = orjson.dumps({"role": "system", "content": without_marker(prompt.system)})
        return fields[:-1] + b',"messages":[' + system

    def _request_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """Return the fields of the request without its messages."""
        quirks = parameters.quirks
        fields: dict[str, Any] = {"model": parameters.model, "stream": True}
        if quirks.get("stream_usage", True):
            fields["stream_options"] = {"include_usage": True}
        fields[quirks.get("max_tokens_field", "max_tokens")] = parameters.max_tokens
        if parameters.temperature is not None:
            fields["temperature"] = parameters.temperature
        fields |= extra_body.allowed_fields(parameters.extra_body)
        if parameters.thinking_budget and (path := quirks.get("thinking_budget_field")):
            extra_body.set_field(fields, path, parameters.thinking_budget)
        if parameters.thinking_budget and (path := quirks.get("thinking_effort_field")):
            extra_body.set_field(fields, path, parameters.thinking_effort)
        fields |= self._tool_fields(prompt, parameters)
        if quirks.get("complete_thinking") and not self.may_think(prompt, parameters):
            _switch_off_thinking(fields, parameters)
        return parameters.without_unsupported(fields)

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        """Return whether each call of the history has its thinking, if the provider requires that."""
        if not parameters.quirks.get("complete_thinking") or self.tool_mode is not ToolMode.NATIVE:
            return True
        calls = (message for message in prompt.messages if message.tool_call)
        return all(any(_thinking_fields(message, parameters, self.thinking_protocol).values()) for message in calls)

    def _tool_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """Return the request fields that declare the tools."""
        if not prompt.tools:
            return {}
        tools = [
            _declaration(tool, parameters.quirks, null_means_omitted=self.null_means_omitted)
            for tool in parameters.declared(prompt.tools)
        ]
        return {"tools": tools} | tool_use_fields(parameters)

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **_key_header(endpoint)}
        url = endpoint.url("chat/completions")
        return wire.HTTPRequest(url=url, headers=headers | dict(endpoint.extra_headers), body=body)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> TurnParser:
        return OpenAIParser(parameters.model, prompt.tool_names, open_with=parameters.quirks.get("thinking_end", ""))


def _key_header(endpoint: Endpoint) -> dict[str, str]:
    """Return the header with the key. Azure expects keys in another header.

    Source: learn.microsoft.com/azure/ai-foundry/openai/reference (authentication).
    """
    if not endpoint.api_key:
        return {}
    is_azure = is_host_below(endpoint.base_url, "azure.com")
    return {"api-key": endpoint.api_key} if is_azure else {"Authorization": f"Bearer {endpoint.api_key}"}


def tool_use_fields(parameters: RouteParameters) -> dict[str, Any]:
    """Return the fields that control tool use. `extra_body` overrides them, except for `reasoning_effort`."""
    quirks, overrides = parameters.quirks, parameters.extra_body
    fields: dict[str, Any] = {}
    if "tool_choice" in quirks and "tool_choice" not in overrides:
        fields["tool_choice"] = quirks["tool_choice"]
    if quirks.get("parallel_tool_calls") is False and "parallel_tool_calls" not in overrides:
        fields["parallel_tool_calls"] = False
    if "reasoning_effort" in quirks:
        fields["reasoning_effort"] = quirks["reasoning_effort"]
    return fields


def _declaration(tool: ToolSpec, quirks: Mapping[str, Any], *, null_means_omitted: bool) -> dict[str, Any]:
    """Return the declaration of a tool, with its schema in the form that the provider accepts."""
    function: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if quirks.get("openapi_schemas"):
        if schema := openapi_form(tool.parameters):
            function["parameters"] = schema
        return {"type": "function", "function": function}
    function["parameters"] = tool.parameters
    if quirks.get("strict_tools"):
        strict_schema = strict_form(tool.parameters, null_means_omitted=null_means_omitted)
        if strict_schema:
            function |= {"parameters": strict_schema, "strict": True}
    return {"type": "function", "function": function}


def _signature_fields(message: Message, parameters: RouteParameters, *, is_unchanged: bool) -> dict[str, Any]:
    """Return the signature of an unchanged call if this account made it, a placeholder if the route requires one,
    else nothing.

    Google documents the placeholder: ai.google.dev/gemini-api/docs/gemini-3#migrating_from_other_models.
    """
    thinking = message.thinking
    if is_unchanged and thinking and parameters.accepts_blocks(thinking, "openai"):
        for block in thinking.blocks:
            if "extra_content" in block:
                return {"extra_content": block["extra_content"]}
    if parameters.quirks.get("thought_signatures"):
        return {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
    return {}


def _thinking_fields(message: Message, parameters: RouteParameters, protocol: str) -> dict[str, Any]:
    """Return the field that sends thinking back to the model that wrote it.

    A server that takes the field requires it in each message with a call, even if it is empty.
    """
    field = parameters.quirks.get("thinking_field")
    if not field or message.role != "assistant":
        return {}
    thinking = message.thinking
    if thinking and not thinking.is_from(protocol, parameters.model):
        thinking = None
    if field == "reasoning_details":
        blocks = thinking.blocks if thinking and parameters.accepts_blocks(thinking, protocol) else ()
        details = [block for block in blocks if "extra_content" not in block]
        return {field: details} if details else {}
    if thinking:
        return {field: thinking.text}
    placeholder = " " if parameters.needs_thinking_of_all_calls else ""
    return {field: placeholder} if message.tool_call else {}


def _switch_off_thinking(fields: dict[str, Any], parameters: RouteParameters) -> None:
    """Forbid thinking to a provider that thinks by default. It rejects an effort or a budget then.

    Sources: api-docs.deepseek.com/guides/thinking_mode, platform.kimi.ai/docs/api/chat,
    github.com/routatic/proxy/pull/26 (the effort).
    """
    paths = [parameters.quirks.get(name, "") for name in ("thinking_budget_field", "thinking_effort_field")]
    for name in ("reasoning_effort", *(path.partition(".")[0] for path in paths)):
        fields.pop(name, None)
    fields["thinking"] = {"type": "disabled"}


def _call_id(call_id: str, parameters: RouteParameters) -> str:
    """Return the id of a call, hashed if the provider does not accept its length."""
    length, max_length = parameters.quirks.get("call_id_length"), parameters.quirks.get("call_id_most")
    if max_length and len(call_id) > max_length:
        length = max_length
    return hashlib.sha256(call_id.encode()).hexdigest()[:length] if length else call_id


# --- pictures --------------------------------------------------------------------------------------------------------


def with_pictures(message: dict[str, Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """Return the message with its pictures. Tool results are text only, so their pictures follow in a user message."""
    if not pictures:
        return [message]
    parts: list[dict[str, Any]] = []
    for picture in pictures:
        url = f"data:{picture.media_type};base64,{picture.data}"
        parts += [_text_part(picture.label), {"type": "image_url", "image_url": {"url": url}}]
    if message["role"] == "tool":
        return [message, {"role": "user", "content": parts}]
    text = [_text_part(message["content"])] if message["content"].strip() else []
    return [message | {"content": [*text, *parts]}]


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
