"""OpenAI's APIs for images and speech, which LocalAI, LiteLLM and others also offer."""

from collections.abc import Iterator

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.base import Adapter, Endpoint, Parser, RouteParameters
from llm_app.adapters.json_values import count, dictionary, parse_object
from llm_app.adapters.openai_native import OpenAINative
from llm_app.errors import StreamCut, UnreadableReply
from llm_app.transport import wire
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, LLMTurnResult, Message, Prompt, Usage


class OpenAIImages(Adapter):
    """The images/generations API. The turn's content is the picture in base64. `extra_body` sets size and quality.

    Quirk response_format: false if the field is rejected. The default is true, except for gpt-image models, which
    always return base64.
    """

    name = "openai_images"

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        return orjson.dumps(message.content)

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        has_response_format = parameters.quirks.get("response_format", not parameters.model.startswith("gpt-image"))
        fields = {"model": parameters.model, "prompt": prompt.messages[-1].content, "n": 1}
        if has_response_format:
            fields["response_format"] = "b64_json"
        return orjson.dumps(fields | extra_body.allowed_fields(parameters.extra_body))

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        return request_to("images/generations", body, endpoint)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> Parser:
        return _ImageParser()


class OpenAISpeech(Adapter):
    """The audio/speech API, which speaks the text unchanged. The turn's content is the sound (MP3) in base64.

    `extra_body` sets the voice; the default is alloy.
    """

    name = "openai_speech"

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        return orjson.dumps(message.content)

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        fields = {"model": parameters.model, "input": prompt.messages[-1].content, "voice": "alloy"}
        return orjson.dumps(fields | extra_body.allowed_fields(parameters.extra_body) | {"response_format": "mp3"})

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        return request_to("audio/speech", body, endpoint)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> Parser:
        return _AudioParser()


class SingleEventParser(Parser):
    """A parser of responses that consist of one event."""

    def __init__(self) -> None:
        self._data = ""

    def result(self) -> LLMTurnResult:
        if not self.done:
            raise StreamCut("no answer came")
        return LLMTurnResult(content=self._data, usage=self.usage, finish_reason="stop")


class _ImageParser(SingleEventParser):
    def feed(self, event: ServerEvent) -> Iterator[Delta]:
        answer = parse_object(event.data)
        pictures = answer.get("data")
        first = dictionary(pictures[0]) if isinstance(pictures, list) and pictures else {}
        if not isinstance(first.get("b64_json"), str):
            raise UnreadableReply("the answer holds no picture in base64 (b64_json)")
        usage = dictionary(answer.get("usage"))
        input_tokens, output_tokens = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        self.usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        self._data, self.done = first["b64_json"], True
        return iter(())


class _AudioParser(SingleEventParser):
    def feed(self, event: ServerEvent) -> Iterator[Delta]:
        if event.name != wire.BINARY:
            raise UnreadableReply("the answer is no sound")
        self._data, self.done = event.data, True
        return iter(())


def request_to(path: str, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
    chat = OpenAINative().request(body, endpoint)
    headers = {**chat.headers, "Accept": "*/*"}
    return wire.HTTPRequest(url=endpoint.url(path), headers=headers, body=body)
