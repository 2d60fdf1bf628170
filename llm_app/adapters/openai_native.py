"""OpenAI chat completions with native tool calls, also used by vLLM, Ollama, llama.cpp, DeepSeek and most gateways."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.base import Adapter, Endpoint, RouteParameters
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.adapters.schema_forms import openapi_form, strict_form
from llm_app.adapters.turn_parser import TurnParser
from llm_app.cache_boundary import without_marker
from llm_app.text_calls.writing import object_in
from llm_app.transport import wire
from llm_app.types import Message, Picture, Prompt, ToolCall, ToolSpec

_WORDS = b'{"role":"user","content":"'
_PARTS = b'{"role":"user","content":['


class OpenAINative(Adapter):
    """The chat completions API. `llm_app.call.families` has the quirks of known models.

    Quirks of a route:

    unsupported: fields that are never sent, such as ["temperature", "top_p"].
    tool_choice: the value sent with tools, such as "required"; by default the field is omitted.
    parallel_tool_calls: false to ask for one call at a time; by default the field is omitted.
    reasoning_effort: the value sent with tools, whatever the thinking budget ("none" if no other value is accepted).
    thinking_field: the field that takes earlier thinking: "reasoning_content" (DeepSeek, Kimi), "reasoning" or
        "reasoning_details" (OpenRouter). By default, thinking is not sent back.
    thinking_budget_field: the field for the thinking budget, such as "reasoning.max_tokens" (OpenRouter) or
        "thinking_budget" (DashScope). By default, the budget is not sent.
    thinking_effort_field: the field for the budget as an effort (low, medium, high), such as "reasoning_effort".
    thinking_end: the closing tag of thinking, such as "</think>", if the chat template already opens the thinking.
    max_tokens_field: "max_tokens" (default) or "max_completion_tokens".
    stream_usage: false if `stream_options` is rejected.
    merge_user_messages: true if the roles must alternate (chat templates of Gemma and Mistral).
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
    null_is_none: ClassVar[bool] = True  # in strict schemas

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        if not message.content.strip() and not message.tool_call and not message.pictures and message.role != "tool":
            return b""
        parts = with_pictures(self._message(message, parameters), message.pictures)
        return b",".join(map(orjson.dumps, parts))

    def _message(self, message: Message, parameters: RouteParameters) -> dict[str, Any]:
        out: dict[str, Any] = {"role": message.role, "content": message.content}
        if call := message.tool_call:
            arguments = self._arguments(call)
            function = {"name": call.name, "arguments": arguments}
            out["content"] = message.content or None
            called = {"id": _call_id(call.id, parameters), "type": "function", "function": function}
            out["tool_calls"] = [called | _signature(message, parameters, is_unchanged=arguments == call.arguments)]
        if message.role == "tool":
            out["tool_call_id"] = _call_id(message.tool_call_id, parameters)
        return out | _thinking(message, parameters)

    def _arguments(self, call: ToolCall) -> str:
        """Return the arguments as a JSON object, because servers that parse the history reject anything else.

        Valid objects are sent exactly as the model wrote them.
        """
        value = object_in(call.arguments)
        return orjson.dumps(value).decode() if "unreadable_arguments" in value else call.arguments

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """Return the request body. Messages come last, so each request begins with the bytes of the previous one."""
        messages = self.encoded(prompt, parameters)
        if parameters.quirks.get("merge_user_messages"):
            messages = merge_user_messages(messages)
        return b",".join([self.opened(prompt, parameters), *messages]) + b"]}"

    def opening(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        head = orjson.dumps(self._head(prompt, parameters))
        system = orjson.dumps({"role": "system", "content": without_marker(prompt.system)})
        return head[:-1] + b',"messages":[' + system

    def _head(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        quirks = parameters.quirks
        head: dict[str, Any] = {"model": parameters.model, "stream": True}
        if quirks.get("stream_usage", True):
            head["stream_options"] = {"include_usage": True}
        head[quirks.get("max_tokens_field", "max_tokens")] = parameters.max_tokens
        if parameters.temperature is not None:
            head["temperature"] = parameters.temperature
        head |= extra_body.allowed_fields(parameters.extra_body)
        if parameters.thinking_budget and (field := quirks.get("thinking_budget_field")):
            extra_body.set_field(head, field, parameters.thinking_budget)
        if parameters.thinking_budget and (field := quirks.get("thinking_effort_field")):
            extra_body.set_field(head, field, parameters.thinking_effort)
        return parameters.without_unsupported(head | self._tools(prompt, parameters))

    def _tools(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """Return the request fields that declare the tools."""
        if not prompt.tools:
            return {}
        tools = [_tool(tool, parameters.quirks, null_is_none=self.null_is_none) for tool in prompt.tools]
        return {"tools": tools} | use_of_tools(parameters)

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if endpoint.api_key:
            headers["Authorization"] = f"Bearer {endpoint.api_key}"
        url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
        return wire.HTTPRequest(url=url, headers=headers | dict(endpoint.extra_headers), body=body)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> TurnParser:
        return OpenAIParser(parameters.model, prompt.tool_names, open_with=parameters.quirks.get("thinking_end", ""))


def use_of_tools(parameters: RouteParameters) -> dict[str, Any]:
    """Return the fields that control tool use.

    The route's `extra_body` overrides them, except for `reasoning_effort`.
    """
    quirks, given = parameters.quirks, parameters.extra_body
    fields: dict[str, Any] = {}
    if "tool_choice" in quirks and "tool_choice" not in given:
        fields["tool_choice"] = quirks["tool_choice"]
    if quirks.get("parallel_tool_calls") is False and "parallel_tool_calls" not in given:
        fields["parallel_tool_calls"] = False
    if "reasoning_effort" in quirks:
        fields["reasoning_effort"] = quirks["reasoning_effort"]
    return fields


def _tool(tool: ToolSpec, quirks: Mapping[str, Any], *, null_is_none: bool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if quirks.get("openapi_schemas"):
        form = openapi_form(tool.parameters)
        return {"type": "function", "function": function | ({"parameters": form} if form else {})}
    if quirks.get("strict_tools") and (strict := strict_form(tool.parameters, null_is_none=null_is_none)):
        return {"type": "function", "function": function | {"parameters": strict, "strict": True}}
    return {"type": "function", "function": function | {"parameters": tool.parameters}}


def _signature(message: Message, parameters: RouteParameters, *, is_unchanged: bool) -> dict[str, Any]:
    """Return the signature of an unchanged call if this model wrote it, or a placeholder.

    Google documents the placeholder: ai.google.dev/gemini-api/docs/gemini-3#migrating_from_other_models.
    """
    thinking = message.thinking
    own = thinking.blocks if thinking and thinking.is_from("openai", parameters.model) else ()
    signed = next((block for block in own if "extra_content" in block), None)
    if signed and is_unchanged:
        return {"extra_content": signed["extra_content"]}
    placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    return {"extra_content": placeholder} if parameters.quirks.get("thought_signatures") else {}


def _thinking(message: Message, parameters: RouteParameters) -> dict[str, Any]:
    """Return the field that sends thinking back to the model that wrote it.

    A server that takes the field requires it in each message with a call, even if it is empty.
    """
    field, thinking = parameters.quirks.get("thinking_field"), message.thinking
    if not field or message.role != "assistant":
        return {}
    is_own = thinking is not None and thinking.is_from("openai", parameters.model)
    if field == "reasoning_details":
        details = [block for block in thinking.blocks if "extra_content" not in block] if thinking and is_own else []
        return {field: details} if details else {}
    return {field: thinking.text if thinking and is_own else ""} if is_own or message.tool_call else {}


def _call_id(call_id: str, parameters: RouteParameters) -> str:
    length, most = parameters.quirks.get("call_id_length"), parameters.quirks.get("call_id_most")
    if most and len(call_id) > most:
        length = most
    return hashlib.sha256(call_id.encode()).hexdigest()[:length] if length else call_id


def with_pictures(message: dict[str, Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """Return the message with its pictures. Tool results are text only, so their pictures follow in a user message."""
    if not pictures:
        return [message]
    parts = [part for picture in pictures for part in _picture_parts(picture)]
    if message["role"] == "tool":
        return [message, {"role": "user", "content": parts}]
    words = [_text_part(message["content"])] if message["content"].strip() else []
    return [message | {"content": [*words, *parts]}]


def _picture_parts(picture: Picture) -> list[dict[str, Any]]:
    url = f"data:{picture.media_type};base64,{picture.data}"
    return [_text_part(picture.label), {"type": "image_url", "image_url": {"url": url}}]


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def merge_user_messages(messages: Sequence[bytes]) -> list[bytes]:
    """Join consecutive user messages, for chat templates in which the roles must alternate.

    This works on encoded messages. A message that ends in a user's text or parts is extended by the next user message.
    """
    out: list[bytes] = []
    for message in messages:
        if out and message.startswith((_WORDS, _PARTS)) and _ends_as_user(out[-1]):
            out[-1] = _joined(out[-1], message)
        else:
            out.append(message)
    return out


def _ends_as_user(message: bytes) -> bool:
    """Return whether the message ends as a user message.

    A result with pictures is encoded as a result and a user message.
    """
    return message.startswith(_WORDS) or _PARTS in message


def _joined(first: bytes, second: bytes) -> bytes:
    if first.startswith(_WORDS) and second.startswith(_WORDS):
        return first[:-2] + b"\\n\\n" + second[len(_WORDS) :]
    return _as_parts(first)[:-2] + b"," + _as_parts(second)[len(_PARTS) :]


def _as_parts(message: bytes) -> bytes:
    if not message.startswith(_WORDS):
        return message
    return _PARTS + b'{"type":"text","text":"' + message[len(_WORDS) :] + b"]}"
