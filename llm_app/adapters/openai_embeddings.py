"""OpenAI's embeddings API, which most model servers also offer: a vector for each text."""

import base64
from array import array
from collections.abc import Iterator

import orjson

from llm_app.adapters import extra_body
from llm_app.adapters.base import Adapter, Endpoint, Parser, RouteParameters
from llm_app.adapters.json_values import count, dictionary, objects, parse_object
from llm_app.adapters.openai_media import SingleEventParser, request_to
from llm_app.errors import UnreadableReply
from llm_app.transport import wire
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, LLMTurnResult, Message, Prompt, Usage


class OpenAIEmbeddings(Adapter):
    """The embeddings API. Each message is a text. The turn's content has one line per text; `vectors` decodes it."""

    name = "openai_embeddings"

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        return orjson.dumps(message.content)

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        fields = {"model": parameters.model, "input": [message.content for message in prompt.messages]}
        return orjson.dumps(fields | extra_body.allowed_fields(parameters.extra_body))

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        return request_to("embeddings", body, endpoint)

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> Parser:
        return _VectorParser(len(prompt.messages))


def vectors(result: LLMTurnResult) -> "list[array[float]]":
    """Return the vectors of a turn, in the order of the messages.

    Raises: ValueError if the turn contains something else.
    """
    return [array("f", base64.b64decode(line, validate=True)) for line in result.content.splitlines()]


class _VectorParser(SingleEventParser):
    """A parser that encodes each vector as base64 of float32 numbers, one line each. All have the same length."""

    def __init__(self, expected: int) -> None:
        super().__init__()
        self._expected = expected

    def feed(self, event: ServerEvent) -> Iterator[Delta]:
        answer = parse_object(event.data)
        rows = sorted(objects(answer.get("data")), key=lambda row: count(row.get("index")))
        try:
            vectors_in_answer = [array("f", row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UnreadableReply("the answer holds no vectors of numbers (embedding)") from error
        if len(vectors_in_answer) != self._expected or len({len(vector) for vector in vectors_in_answer}) != 1:
            raise UnreadableReply(f"the answer holds no {self._expected} vectors of one length")
        self.usage = Usage(input_tokens=count(dictionary(answer.get("usage")).get("prompt_tokens")))
        self._data = "\n".join(base64.b64encode(vector.tobytes()).decode() for vector in vectors_in_answer)
        self.done = True
        return iter(())
