"""OpenAI's Responses API: a conversation of items. Reasoning is sent back with the call that followed it.

The provider stores nothing (`store: false`): each request contains the complete conversation, and reasoning is
encrypted. Sources: platform.openai.com/docs/api-reference/responses and /docs/guides/reasoning.
"""

from dataclasses import replace
from typing import Any, ClassVar

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.anthropic_native import own_blocks
from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.adapters.openai_native import OpenAINative, tool_use_fields
from llm_app.adapters.responses_parser import ResponsesParser
from llm_app.adapters.schema_forms import strict_form
from llm_app.cache_boundary import without_marker
from llm_app.transport import wire
from llm_app.types import Message, Prompt

_MIN_TOKENS = 16  # the API rejects less ("integer below minimum value")
# Fields that would store the conversation at the provider, remove items or end the stream, and fields that are ours.
_FORBIDDEN_FIELDS = {"store", "background", "truncation", "include", "input", "instructions"}


class OpenAIResponses(OpenAINative):
    """The Responses API.

    Quirks of a route, in addition to `unsupported`, `tool_choice` and `parallel_tool_calls` of openai_native:

    encrypted_reasoning: true if the model reasons. Other models reject the request for encrypted reasoning.
    thinking_effort_field: the field for the thinking budget as an effort (low, medium, high): "reasoning.effort".
    item_ids: false if the ids of reasoning items are looked up in vain, as nothing is stored (Azure, proxies).
    complete_thinking: true if the provider requires the reasoning of each call (DeepSeek). It is switched off while the
        history has calls without it, such as those of another model.
    phases: true if the model distinguishes commentary next to a call from an answer (GPT-5.3 and newer).
    strict_tools: false if `strict` is rejected; the default is true, for tools whose schema has a strict form.
    """

    name = "openai_responses"
    label = "OpenAI Responses"
    version: ClassVar[int] = 1

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        return b",".join(map(orjson.dumps, self._items(message, parameters)))

    def _items(self, message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
        """Return the items of a message.

        Reasoning precedes the items that followed it; the API rejects reasoning alone.
        """
        if message.role == "tool":
            output = _parts(message) if message.pictures else message.content
            return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
        items = _text_items(message, parameters)
        if call := message.tool_call:
            call_fields = {"call_id": call.id, "name": call.name, "arguments": self._arguments(call)}
            items.append({"type": "function_call", **call_fields})
        return self._reasoning_items(message, parameters) + items if items else []

    def _reasoning_items(self, message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
        items = own_blocks(message, parameters, self.name)
        if parameters.quirks.get("item_ids") is False:
            items = [{name: value for name, value in item.items() if name != "id"} for item in items]
        return items

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """Return the request body. Items come last, so each request begins with the bytes of the previous one."""
        return self.cached_prefix(prompt, parameters) + b",".join(self.encoded(prompt, parameters)) + b"]}"

    def prefix(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        return orjson.dumps(self._request_fields(prompt, parameters))[:-1] + b',"input":['

    def _request_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        fields: dict[str, Any] = {"model": parameters.model, "stream": True, "store": False}
        fields["max_output_tokens"] = max(parameters.max_tokens, _MIN_TOKENS)
        if parameters.temperature is not None:
            fields["temperature"] = parameters.temperature
        if parameters.quirks.get("encrypted_reasoning"):
            fields["include"] = ["reasoning.encrypted_content"]
        additional = extra_body.allowed_fields(parameters.extra_body)
        fields |= {name: value for name, value in additional.items() if name not in _FORBIDDEN_FIELDS}
        if parameters.thinking_budget and (field := parameters.quirks.get("thinking_effort_field")):
            extra_body.set_field(fields, field, parameters.thinking_effort)
        if not self.may_think(prompt, parameters):
            fields["reasoning"] = {"effort": "none"}  # DeepSeek: api-docs.deepseek.com/guides/thinking_mode
        if instructions := without_marker(prompt.system).strip():
            fields["instructions"] = instructions
        return parameters.without_unsupported(fields | self._tool_fields(prompt, parameters))

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        """Return whether each call of the history has its reasoning, if the provider requires that."""
        if not parameters.quirks.get("complete_thinking"):
            return True
        calls = (message for message in prompt.messages if message.tool_call)
        return all(own_blocks(message, parameters, self.name) for message in calls)

    def _tool_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        if not prompt.tools:
            return {}
        is_strict = bool(parameters.quirks.get("strict_tools", True))
        tools = []
        for tool in parameters.declared(prompt.tools):
            strict = strict_form(tool.parameters, null_means_omitted=True) if is_strict else None
            # The API treats tools as strict by default, and rejects other schemas then.
            schema = {"parameters": strict or tool.parameters, "strict": strict is not None}
            tools.append({"type": "function", "name": tool.name, "description": tool.description, **schema})
        return {"tools": tools} | tool_use_fields(parameters)

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        return replace(super().request(body, endpoint), url=endpoint.url("responses"))

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> ResponsesParser:
        return ResponsesParser(parameters.model, prompt.tool_names)


def _text_items(message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
    """Return the text item of a message.

    Source of the phase: platform.openai.com/docs/guides/latest-model ("preserve and resend phase").
    """
    if not message.content.strip() and not message.pictures:
        return []
    item: dict[str, Any] = {"role": message.role, "content": _parts(message) if message.pictures else message.content}
    if message.role == "assistant" and parameters.quirks.get("phases"):
        item["phase"] = "commentary" if message.tool_call else "final_answer"
    return [item]


def _parts(message: Message) -> list[dict[str, Any]]:
    """Return the content parts of a message: its text, then each picture after a line that names it."""
    parts = [_text_part(message.content)] if message.content.strip() else []
    for picture in message.pictures:
        url = f"data:{picture.media_type};base64,{picture.data}"
        parts += [_text_part(picture.label), {"type": "input_image", "detail": "auto", "image_url": url}]
    return parts


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}
