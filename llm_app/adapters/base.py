"""What a protocol must bring: two pure halves (bytes of a request, turn out of events) over one wire."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import orjson

from llm_app.transport import wire
from llm_app.transport.sse import ServerEvent
from llm_app.transport.waiting import Runner
from llm_app.types import Delta, GrowingMessages, LLMTurnResult, Message, Prompt, ToolMode, Usage


@dataclass(frozen=True, kw_only=True)
class RouteParameters:
    """What shapes a request beside the prompt. Logged with each call, so that it can be rebuilt."""

    model: str
    max_tokens: int
    temperature: float | None = None
    thinking_budget: int | None = None
    takes_images: bool | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    quirks: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Only what was set: a parameter that a later version adds must not change an old log."""
        return {name: value for name in _NAMES if (value := getattr(self, name)) not in (None, {})}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "RouteParameters":
        """Names in the order of the alphabet: not every database keeps theirs, and they are part of the bytes."""
        return cls(**orjson.loads(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)))

    @property
    def thinking_effort(self) -> str:
        """The budget as a word. The bounds are Gemini's: ai.google.dev/gemini-api/docs/openai."""
        budget = self.thinking_budget or 0
        return "low" if budget <= 1_024 else "medium" if budget <= 8_192 else "high"

    def without_unsupported(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request, less those that the provider refuses (the quirk `unsupported`)."""
        unsupported = self.quirks.get("unsupported", ())
        return {name: value for name, value in body.items() if name not in unsupported}

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Tells apart all that shapes a request beside the prompt."""
        return orjson.dumps(self.as_json(), option=orjson.OPT_SORT_KEYS).decode()

    @cached_property
    def message_key(self) -> str:
        """Tells apart what shapes the bytes of a message: the model, what it can see, and how its provider differs."""
        shaping = {"model": self.model, "takes_images": self.takes_images, "quirks": dict(self.quirks)}
        return orjson.dumps(shaping, option=orjson.OPT_SORT_KEYS).decode()


_NAMES = tuple(each.name for each in fields(RouteParameters))


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a request goes. Nothing of it is part of the bytes or of the log."""

    base_url: str
    api_key: str = field(default="", repr=False)
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    silence_s: float = 120
    total_s: float = 600


class Parser:
    """Folds the events of one answer into a turn. One object an attempt; `done` when nothing more is to come.

    `usage` is what the provider has said of it so far, for answers that never come to their end.
    """

    done = False
    usage = Usage()

    def feed(self, event: ServerEvent) -> Iterable[Delta]:
        """Takes one event; gives what a person may see of it. Raises LLMError."""
        raise NotImplementedError

    def result(self) -> LLMTurnResult:
        """The whole turn. Raises StreamCut if its end never came."""
        raise NotImplementedError


class Adapter:
    """A protocol: `name` is what a provider's row says, `label` what administrators read.

    `version` counts the changes of its bytes: an old one stays as long as there are logs of it.
    """

    name: ClassVar[str]
    label: ClassVar[str] = ""
    version: ClassVar[int] = 1
    tool_mode: ClassVar[ToolMode] = ToolMode.NATIVE

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        """One message as bytes of a request; empty if the protocol has no place for it."""
        raise NotImplementedError

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """The whole request, byte for byte."""
        raise NotImplementedError

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        raise NotImplementedError

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> Parser:
        raise NotImplementedError

    def events(self, body: bytes, endpoint: Endpoint, run: Runner) -> Generator[ServerEvent]:
        """Sends the request; yields the events of the answer. Raises LLMError, or what interrupts a wait of `run`."""
        return wire.events(self.request(body, endpoint), run, silence_s=endpoint.silence_s, total_s=endpoint.total_s)

    def prepare(self) -> None:
        """Loads what the first call would otherwise wait for. It may take seconds: called in a thread."""

    async def close(self) -> None:
        """Closes what calls on the running loop have left open beside our own connections."""

    def opened(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """What `opening` says, made once for as long as prompts share their system prompt and tools."""
        key = f"{self.name}.{self.version}.{self.may_think(prompt, parameters)}.{parameters.key}"
        if (opening := prompt.openings.get(key)) is None:
            opening = prompt.openings[key] = self.opening(prompt, parameters)
        return opening

    def opening(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """The request up to its messages, which decide over nothing in it but what `may_think` says."""
        raise NotImplementedError

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        """Whether these messages allow a request to ask for thinking."""
        return True

    def encoded(self, prompt: Prompt, parameters: RouteParameters) -> list[bytes]:
        """The messages' bytes; each message is serialized once in its life."""
        key = f"{self.name}.{self.version}.{parameters.message_key}"
        known = prompt.messages.encoded[key] if isinstance(prompt.messages, GrowingMessages) else []
        for message in prompt.messages[len(known) :]:
            if key not in message.encoded:
                message.encoded[key] = self.encode(_as_seen(message, parameters), parameters)
            known.append(message.encoded[key])
        return list(filter(None, known))


def _as_seen(message: Message, parameters: RouteParameters) -> Message:
    """With its pictures only where the model takes them."""
    return message.without_pictures() if message.pictures and not parameters.takes_images else message
