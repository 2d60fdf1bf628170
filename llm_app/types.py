"""The input and output of provider calls, independent of protocols."""

import re
from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")
_tool_name = attrgetter("name")
TOKENS_PER_PICTURE = 1_600  # of the largest picture that we send, at providers that publish it
Role = Literal["user", "assistant", "tool"]
Origin = Literal["native", "xml", "json", "text"]


class Runner(Protocol):
    """A function that waits for its caller, or raises the exception that interrupts the wait."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        """Run a coroutine on the event loop and return its result."""

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        """Wait for events of `select.poll` on a descriptor, at most so many seconds. Return whether one occurred."""


class Purpose(StrEnum):
    """The purpose of a provider call. All calls use the same client and the same log."""

    STEP = "step"
    TITLE = "title"
    VISION = "vision"
    GENERATE = "generate"
    REVIEW = "review"
    SUMMARY = "summary"
    MEMORY = "memory"
    TEST = "test"


class ToolMode(StrEnum):
    """The way in which a protocol carries tools and calls. Some sections of the prompt explain it to the model."""

    NATIVE = "native"  # in separate fields
    XML = "xml"  # described in the prompt, called in the text
    JSON = "json"  # described in the prompt, the complete reply is one call


# Finish reasons of answers that filled the context window. Sources: docs.z.ai/api-reference/llm/chat-completion (Z.ai),
# platform.claude.com/docs/en/api/handling-stop-reasons (Anthropic), LM Studio, Mistral (model_length); gateways.
WINDOW_REASONS = frozenset(
    {
        *("model_context_window_exceeded", "context_window_exceeded", "context_length_exceeded"),
        *("contextlengthreached", "max_context_length", "model_length"),
    }
)
# Finish reasons of answers that reached the output limit, or the end of the window.
LIMIT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", *WINDOW_REASONS})
# Finish reasons of answers that the provider aborted: OpenRouter and Mistral, DeepSeek, Z.ai, vLLM and SGLang.
ABORT_REASONS = frozenset({"error", "insufficient_system_resource", "network_error", "abort"})
# Finish reasons of answers that a filter stopped, also those that gateways pass on unchanged.
REFUSAL_REASONS = frozenset(
    {
        "content_filter",  # OpenAI, Azure, DeepSeek, Kimi, Mistral; OpenAI's responses as the reason of `incomplete`
        "content_filtered",  # Bedrock: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
        "guardrail_intervened",  # Bedrock
        "refusal",  # platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
        "sensitive",  # Z.ai: docs.z.ai/api-reference/llm/chat-completion
        "error_toxic",  # Cohere, as in litellm_core_utils/core_helpers.py of github.com/BerriAI/litellm
        # Gemini, whose compatible endpoint passes on its own names: ai.google.dev/api/generate-content#FinishReason
        # and github.com/HKUDS/Vibe-Trading/pull/308.
        *("safety", "recitation", "blocklist", "prohibited_content", "spii", "model_armor"),
        *("image_safety", "image_prohibited_content", "image_recitation"),
    }
)
# Finish reasons of answers whose call the provider could not read: Gemini, also in the form
# "function_call_filter: MALFORMED_FUNCTION_CALL" (ai.google.dev/api/generate-content#FinishReason).
INVALID_CALL_REASONS = frozenset({"malformed_function_call", "unexpected_tool_call", "function_call_filter"})

_ORDINARY_REASONS = frozenset({"", "stop", "tool_calls", "tool_use", "end_turn", "completed", "function_call"})


@lru_cache(maxsize=64)
def has_reason(finish_reason: str, reasons: frozenset[str]) -> bool:
    """Return whether a finish reason names one of these, as "SAFETY", "content-filter" or "content_filter: SPII" do."""
    if finish_reason in _ORDINARY_REASONS:
        return False
    names = re.findall(r"\w+", finish_reason.lower().replace("-", "_"))
    return any(name.removeprefix("finish_reason_") in reasons for name in names)


# Fields of sealed blocks: of Anthropic and OpenRouter (`data`), OpenAI, and Gemini.
_SEALED_FIELDS = ("signature", "data", "encrypted_content", "extra_content")


class DeltaKind(StrEnum):
    TEXT = "text"  # the text of a `message` call, decoded while it arrives
    THINKING = "thinking"
    WORDS = "words"  # text next to a call, displayed as progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Delta:
    kind: DeltaKind
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call as received. `arguments` is JSON text, neither parsed nor repaired."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Thinking:
    """The thinking of a model.

    `blocks` are sent back unchanged, only to the protocol and model that made them. Signed or encrypted ones are also
    sealed for the account that made them. `account` is its fingerprint; it is empty in entries of earlier versions.
    """

    text: str
    protocol: str = ""
    model: str = ""
    blocks: tuple[Mapping[str, Any], ...] = ()
    account: str = ""

    def is_from(self, protocol: str, model: str) -> bool:
        return (self.protocol, self.model) == (protocol, model)

    @property
    def is_sealed(self) -> bool:
        """Return whether a block is signed or encrypted."""
        return any(block.get(name) for block in self.blocks for name in _SEALED_FIELDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A picture in a message. `data` is base64; `path` is its path in the conversation."""

    path: str
    media_type: str
    width: int
    height: int
    data: str = field(repr=False)

    @property
    def label(self) -> str:
        """Return the line before the picture, which tells the model which picture it sees."""
        return f"[picture: {self.path}, {self.width}×{self.height}]"

    @property
    def placeholder(self) -> str:
        """Return the text that replaces the picture for models without vision."""
        return f"{self.label[:-1]}; this model cannot see pictures]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message of the conversation. `encoded` caches its serialized bytes by adapter.

    `seq` is the sequence number of its entry in the record. `masked_with` is the version of the secrets that were
    redacted in that entry; `redacted` caches the message redacted with other versions.
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
        """Return the message with placeholders instead of pictures."""
        text = "\n".join([self.content, *(picture.placeholder for picture in self.pictures)])
        return replace(self, content=text, pictures=(), encoded={})


class GrowingMessages(list[Message]):
    """Messages that are only appended to.

    `encoded` caches their bytes by adapter, so each message is processed once.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__(messages)
        self.encoded: defaultdict[str, list[bytes]] = defaultdict(list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """The complete input of a model. `system` contains the cache marker between its stable and its dynamic part.

    `prefixes` caches the bytes before the messages, by adapter and parameters. Prompts that only differ in their
    messages can share it.
    """

    system: str
    tools: Sequence[ToolSpec]
    messages: Sequence[Message]
    prefixes: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(map(_tool_name, self.tools))

    def with_messages(self, messages: Sequence[Message]) -> "Prompt":
        """Return the prompt with other messages."""
        return Prompt(system=self.system, tools=self.tools, messages=messages, prefixes=self.prefixes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of a call. The input includes tokens read from or written to a cache; the output includes thinking."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LLMTurnResult:
    """The model's turn, whatever the protocol.

    `origin` tells where the reply contained its calls: in native fields, or in its text as XML, as JSON, or between the
    markers of a model family. `unreadable` tells the model why something that looks like a call is not a valid call.
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
        """Return whether the reply reached the output limit."""
        return has_reason(self.finish_reason, LIMIT_REASONS)
