"""The interface of protocols: an adapter builds the bytes of requests, its parser turns events into a result."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import orjson

from llm_app.adapters.descriptions import with_short_descriptions
from llm_app.base_address import endpoint_address
from llm_app.transport import wire
from llm_app.transport.sse import ServerEvent
from llm_app.types import (
    Delta,
    GrowingMessages,
    LLMTurnResult,
    Message,
    Prompt,
    Runner,
    Thinking,
    ToolMode,
    ToolSpec,
    Usage,
)


@dataclass(frozen=True, kw_only=True)
class RouteParameters:
    """The parameters of a request apart from its prompt. They are logged, so that each request can be rebuilt.

    `account` is a keyed fingerprint of the address and the key: sealed thinking is only sent to the account that made
    it. Two quirks of all protocols concern sealed thinking:

    sealed_epoch: a number that is raised when the provider refuses sealed thinking. Everything sealed before is left
        out from then on.
    sealed_thinking: false if sealed thinking is never sent back, for gateways whose accounts change all the time.

    Three quirks of all protocols are limits of the provider:

    max_output_tokens: the most tokens of output that the model accepts, if that is less than the route's.
    max_tools: the most tools that the provider accepts in a request. The first ones are declared.
    description_limit: the most characters of a description that the provider accepts. Longer ones are cut.
    """

    model: str
    max_tokens: int
    temperature: float | None = None
    thinking_budget: int | None = None
    takes_images: bool | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    quirks: Mapping[str, Any] = field(default_factory=dict)
    account: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the parameters that are set. Parameters of later versions must not change old logs."""
        return {name: value for name in _FIELD_NAMES if (value := getattr(self, name)) not in (None, {})}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "RouteParameters":
        """Build parameters with sorted names.

        Some databases change the order of names, and the order is part of the bytes.
        """
        return cls(**orjson.loads(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)))

    def accepts_blocks(self, thinking: Thinking, protocol: str) -> bool:
        """Return whether the blocks of this thinking can be sent: to their own protocol, model and account.

        Blocks that are not sealed can be sent to any account.
        """
        if not thinking.is_from(protocol, self.model):
            return False
        if not thinking.is_sealed:
            return True
        if self.quirks.get("sealed_thinking") is False:
            return False
        if not thinking.account:  # an entry of an earlier version
            return "sealed_epoch" not in self.quirks
        return thinking.account == self.account

    @property
    def thinking_effort(self) -> str:
        """Return the thinking budget as an effort. The bounds are Gemini's: ai.google.dev/gemini-api/docs/openai."""
        budget = self.thinking_budget or 0
        return "low" if budget <= 1_024 else "medium" if budget <= 8_192 else "high"

    @property
    def needs_thinking_of_all_calls(self) -> bool:
        """Return whether calls need their thinking (`complete_thinking`), which cannot be switched off.

        Then an empty one replaces that of other models: github.com/leookun/cursor-byok/pull/276,
        github.com/NousResearch/hermes-agent/pull/17341.
        """
        return bool(self.quirks.get("complete_thinking")) and "thinking" in self.quirks.get("unsupported", ())

    def without_unsupported(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a request without those that the provider rejects (the quirk `unsupported`)."""
        unsupported = self.quirks.get("unsupported", ())
        return {name: value for name, value in body.items() if name not in unsupported}

    def declared(self, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        """Return the tools within the provider's limits: the first ones, with descriptions that are not too long."""
        max_tools, limit = self.quirks.get("max_tools"), self.quirks.get("description_limit")
        tools = tools[:max_tools] if max_tools else tools
        return [with_short_descriptions(tool, limit) for tool in tools] if limit else tools

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Return a key for everything that shapes a request apart from its prompt."""
        return orjson.dumps(self.as_json(), option=orjson.OPT_SORT_KEYS).decode()

    @cached_property
    def message_key(self) -> str:
        """Return a key for everything that shapes the bytes of a message: model, vision, account and quirks."""
        settings = {
            "model": self.model,
            "takes_images": self.takes_images,
            "account": self.account,
            "quirks": dict(self.quirks),
        }
        return orjson.dumps(settings, option=orjson.OPT_SORT_KEYS).decode()


_FIELD_NAMES = tuple(item.name for item in fields(RouteParameters))


def _ignore() -> None: ...


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The address and the credentials of requests. They are neither part of the bytes nor of the log.

    `on_sent` is called when a request begins to reach the provider, which may charge for it from then on.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    silence_s: float = 120
    total_s: float = 600
    on_sent: Callable[[], None] = _ignore

    def url(self, path: str) -> str:
        """Return the address of an endpoint, such as "chat/completions"."""
        return endpoint_address(self.base_url, path)


class Parser:
    """A parser that turns the events of one response into a result. `done` is true after the last event.

    `usage` is the usage that the provider has reported so far, for responses that never end.
    """

    done = False
    usage = Usage()

    def feed(self, event: ServerEvent) -> Iterable[Delta]:
        """Parse an event and return the deltas that users can see.

        Raises: LLMError.
        """
        raise NotImplementedError

    @property
    def has_ended(self) -> bool:
        """Return whether the answer is complete, although more events may follow."""
        return self.done

    @property
    def is_foreign(self) -> bool:
        """Return whether all events so far belong to another protocol."""
        return False

    def result(self) -> LLMTurnResult:
        """Return the complete turn.

        Raises: StreamCut if the response ended too early.
        """
        raise NotImplementedError


class Adapter:
    """A protocol. `name` is stored in the rows of providers, `label` is shown to administrators.

    `version` changes with the bytes of requests. Old versions stay as long as there are logs of them.
    """

    name: ClassVar[str]
    label: ClassVar[str] = ""
    version: ClassVar[int] = 1
    tool_mode: ClassVar[ToolMode] = ToolMode.NATIVE

    def encode(self, message: Message, parameters: RouteParameters) -> bytes:
        """Return the bytes of one message; empty if the protocol cannot express it."""
        raise NotImplementedError

    def body(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """Return the bytes of the request body."""
        raise NotImplementedError

    def request(self, body: bytes, endpoint: Endpoint) -> wire.HTTPRequest:
        raise NotImplementedError

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> Parser:
        raise NotImplementedError

    def events(self, body: bytes, endpoint: Endpoint, run: Runner) -> Generator[ServerEvent]:
        """Send the request and yield the events of the response. Other transports must call `endpoint.on_sent`.

        Raises: LLMError, or the exception that interrupts a wait of `run`.
        """
        return wire.events(
            self.request(body, endpoint),
            run,
            silence_s=endpoint.silence_s,
            total_s=endpoint.total_s,
            on_sent=endpoint.on_sent,
        )

    def prepare(self) -> None:
        """Load everything that the first call needs. This may take seconds, so call it in a thread."""

    async def close(self) -> None:
        """Close connections that calls on the running event loop have left open, apart from those of our own pool."""

    def cached_prefix(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """Return the result of `prefix`, cached for prompts with the same system prompt and tools."""
        key = f"{self.name}.{self.version}.{self.may_think(prompt, parameters)}.{parameters.key}"
        if (prefix := prompt.prefixes.get(key)) is None:
            prefix = prompt.prefixes[key] = self.prefix(prompt, parameters)
        return prefix

    def prefix(self, prompt: Prompt, parameters: RouteParameters) -> bytes:
        """Return the bytes of the request before its messages. Messages change them only through `may_think`."""
        raise NotImplementedError

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        """Return whether a request with these messages can ask for thinking."""
        return True

    def encoded(self, prompt: Prompt, parameters: RouteParameters) -> list[bytes]:
        """Return the bytes of the messages. Each message is serialized once."""
        key = f"{self.name}.{self.version}.{parameters.message_key}"
        encoded_messages = prompt.messages.encoded[key] if isinstance(prompt.messages, GrowingMessages) else []
        for message in prompt.messages[len(encoded_messages) :]:
            if key not in message.encoded:
                is_visible = parameters.takes_images or not message.pictures
                visible = message if is_visible else message.without_pictures()
                message.encoded[key] = self.encode(visible, parameters)
            encoded_messages.append(message.encoded[key])
        return list(filter(None, encoded_messages))
