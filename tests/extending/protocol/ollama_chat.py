"""Ollama's own chat API, as a protocol of a provider. The answer comes in one piece.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md, "Generate a chat completion".
"""

from collections.abc import Iterator
from typing import Any

import orjson

from llm_app.adapters.base import Adapter, Endpoint, Parser, RouteParameters
from llm_app.adapters.json_values import count, dictionary, json_text, objects, parse_object, text
from llm_app.adapters.turn_parser import TurnParser
from llm_app.cache_boundary import without_marker
from llm_app.text_calls.writing import object_in
from llm_app.transport.sse import ServerEvent
from llm_app.transport.wire import HTTPRequest
from llm_app.types import Delta, Message, Prompt, ToolSpec, Usage


class OllamaChat(Adapter):
    name = "ollama_chat"
    label = "Ollama's own chat API"
    version = 1  # raise it whenever the bytes of a request change

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        fields: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.pictures:
            fields["images"] = [picture.data for picture in message.pictures]
        if call := message.tool_call:
            fields["tool_calls"] = [{"function": {"name": call.name, "arguments": object_in(call.arguments)}}]
        return orjson.dumps(fields)

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        head = {
            "model": parameters.model,
            "stream": False,
            "options": {"num_predict": parameters.max_tokens},
            "tools": [_tool(tool) for tool in prompt.tools],
        }
        system = orjson.dumps({"role": "system", "content": without_marker(prompt.system)})
        messages = b",".join([system, *self.encoded(prompt, parameters)])
        return orjson.dumps(head)[:-1] + b',"messages":[' + messages + b"]}"

    def request(self, body: bytes, endpoint: Endpoint) -> HTTPRequest:
        headers = {"Content-Type": "application/json", **endpoint.extra_headers}
        return HTTPRequest(url=f"{endpoint.base_url.rstrip('/')}/api/chat", headers=headers, body=body)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> Parser:
        return OllamaParser(parameters.model, prompt.tool_names)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


class OllamaParser(TurnParser):
    """Folds the events of an answer into a turn: `_think`, `_say` and `_call` take what the model wrote."""

    protocol = "ollama_chat"

    def read_event(self, event: ServerEvent) -> Iterator[Delta]:
        answer = parse_object(event.data)
        message = dictionary(answer.get("message"))
        yield from self._think(text(message.get("thinking")))
        yield from self._say(text(message.get("content")))
        for place, call in enumerate(objects(message.get("tool_calls"))):
            function = dictionary(call.get("function"))
            yield from self._call(place, name=text(function.get("name")), fragment=json_text(function.get("arguments")))
        self.usage = Usage(
            input_tokens=count(answer.get("prompt_eval_count")), output_tokens=count(answer.get("eval_count"))
        )
        self._finish_reason = text(answer.get("done_reason"))
