"""The values that go into a provider call and come out of it. Nothing here knows a protocol."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any, Literal

_name = attrgetter("name")
Role = Literal["user", "assistant", "tool"]
Origin = Literal["native", "xml", "json", "text"]


class Purpose(StrEnum):
    """Why a provider is called. Every call goes through the same client and the same log."""

    STEP = "step"
    TITLE = "title"
    VISION = "vision"
    GENERATE = "generate"
    REVIEW = "review"
    SUMMARY = "summary"
    MEMORY = "memory"
    TEST = "test"


class ToolMode(StrEnum):
    """How a protocol carries tools and calls. The prompt differs by it: what a mode must explain is a section of it."""

    NATIVE = "native"  # in fields of their own
    XML = "xml"  # described in the prompt, called in the text
    JSON = "json"  # described in the prompt, the whole reply is one call


CUT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"}
)  # finish reasons: the output limit was reached
# Finish reasons of answers that broke off at the provider: OpenRouter and Mistral, DeepSeek, Z.ai, vLLM and SGLang.
BROKEN_OFF = frozenset({"error", "insufficient_system_resource", "network_error", "abort"})


class DeltaKind(StrEnum):
    TEXT = "text"  # of a `message` call, decoded while it arrives
    THINKING = "thinking"
    WORDS = "words"  # beside a call: shown as progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Delta:
    kind: DeltaKind
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call as it was received: `arguments` is the JSON text, neither parsed nor repaired."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Thinking:
    """What a model thought. `blocks` (signed parts) go back unchanged, to the protocol and model they came from."""

    text: str
    protocol: str = ""
    model: str = ""
    blocks: tuple[Mapping[str, Any], ...] = ()

    def is_from(self, protocol: str, model: str) -> bool:
        return (self.protocol, self.model) == (protocol, model)


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A picture of a message. `data` is base64; `path` is what the conversation calls it."""

    path: str
    media_type: str
    width: int
    height: int
    data: str = field(repr=False)

    @property
    def label(self) -> str:
        """Comes before the picture, so that a model knows which one it sees."""
        return f"[picture: {self.path}, {self.width}×{self.height}]"

    @property
    def placeholder(self) -> str:
        """Replaces the picture where the model takes none."""
        return f"{self.label[:-1]}; this model cannot see pictures]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of the conversation. `encoded` keeps its serialized bytes by adapter, so that no call pays twice.

    `seq` is its entry's in the record, `masked_with` the version of the secrets that were redacted in it there;
    `redacted` caches the message as redacted with another version.
    """

    role: Role
    content: str = ""
    thinking: Thinking | None = None
    tool_call: ToolCall | None = None
    tool_call_id: str = ""
    pictures: tuple[Picture, ...] = ()
    seq: int = 0
    masked_with: str = ""
    encoded: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    redacted: dict[str, tuple["Message", Any]] = field(default_factory=dict, compare=False, repr=False)

    def without_pictures(self) -> "Message":
        """The same in words only."""
        words = "\n".join([self.content, *(picture.placeholder for picture in self.pictures)])
        return replace(self, content=words, pictures=(), encoded={})


class GrowingMessages(list[Message]):
    """Messages to which others are only ever appended: each is looked at once for `encoded`, their bytes by adapter."""

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__(messages)
        self.encoded: defaultdict[str, list[bytes]] = defaultdict(list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """All that a model sees. `system` carries the cache marker between its stable and its dynamic part.

    `openings` keeps the bytes of what precedes the messages, by adapter and parameters: prompts that differ in nothing
    but their messages may share them.
    """

    system: str
    tools: Sequence[ToolSpec]
    messages: Sequence[Message]
    openings: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(map(_name, self.tools))

    def with_messages(self, messages: Sequence[Message]) -> "Prompt":
        """The same before other messages."""
        return Prompt(system=self.system, tools=self.tools, messages=messages, openings=self.openings)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of a call. Those read from a cache or written into it are part of the input, thinking is of the output."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LLMTurnResult:
    """One turn, whatever the protocol.

    `origin` tells where the calls were in the reply: in separate fields, or in its words as XML, as JSON, or
    behind the text markers of a model family. `unreadable` says, to the model, why what looks like a call is none.
    """

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    origin: Origin = "native"
    unreadable: str = ""
    thinking: Thinking | None = None
    usage: Usage = Usage()
    finish_reason: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the reply ended at the output limit, not where the model would have ended it."""
        return self.finish_reason in CUT
