"""Quirks that are learned from rejections: a parameter named in an error → a quirk of the routes to the model.

After a rejection the same call is sent again with the quirk, and later calls use it from the start.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from llm_app.errors import BadRequest, ContextTooLong, SealedPartRefused
from llm_app.transport.sealed_parts import UNKNOWN_ITEM

SEALED_EPOCH = "sealed_epoch"
_MOST_EPOCHS = 2  # after more refusals, the accounts behind the address change all the time
UNSUPPORTED = "unsupported"  # a quirk with several values: the fields that are never sent
_REJECTED = (
    r"unsupported|not support|unavailable|unknown|unrecognized|unexpected|not permitted|not allowed|deprecated"
    r"|extra inputs|forbid|cannot find|incompatible|may only|may not|only .{0,60} (is|are) (allowed|supported)|does not"
)
_WITHOUT_THINKING = r"must be passed back|is missing in assistant|expected .{0,40}thinking.{0,60}but found"
_UNKNOWN = r"unsupported|unknown|unrecognized|unexpected|not permitted|extra inputs|forbid|cannot find"


@dataclass(frozen=True)
class LearnableQuirk:
    """A quirk and its value. `field` is the rejected field of the request."""

    field: str
    name: str
    value: Any

    @property
    def sentence(self) -> str:
        return f"The model provider refused “{self.field}” in the request. It is sent again in another form."


@dataclass(frozen=True)
class _QuirkRule:
    """A rule that turns an error into the value of a quirk.

    It applies if the request has `request_field` (default: `field`), and if the error names `field` and matches
    `message_pattern`.
    """

    field: str
    quirk: str
    value: Any
    message_pattern: str = _REJECTED
    request_field: str = ""


_RULES = (
    _QuirkRule("max_tokens", "max_tokens_field", "max_completion_tokens", "max_completion_tokens"),
    _QuirkRule("max_completion_tokens", "max_tokens_field", "max_tokens", _UNKNOWN),
    _QuirkRule("stream_options", "stream_usage", value=False),
    # GPT-5.6 and later, in chat completions: github.com/BerriAI/litellm/pull/34569.
    _QuirkRule("reasoning_effort", "reasoning_effort", "none", "reasoning_effort to 'none'", request_field="tools"),
    # Claude: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
    _QuirkRule("thinking", "thinking_form", "adaptive", r"thinking\.type\.adaptive"),
    _QuirkRule("thinking", "thinking_form", "budget", "adaptive thinking is not supported"),
    _QuirkRule(
        "tool_choice",
        "parallel_tool_calls",
        value=True,
        message_pattern=r"disable_parallel_tool_use.{0,200}(extra|not permitted)",
    ),
    _QuirkRule("tool_choice", "tool_choice", "auto"),
    _QuirkRule("parallel_tool_calls", "parallel_tool_calls", value=True),
    _QuirkRule("cache_control", "cache_points", value=False, request_field="system"),
    # DeepSeek and Kimi. Sources: github.com/abhigyanpatwari/GitNexus/issues/43,
    # and github.com/JohnnyZ93/oai-compatible-copilot/issues/140.
    _QuirkRule(
        "reasoning_content",
        "thinking_field",
        "reasoning_content",
        "missing|must be passed|must be provided",
        "messages",
    ),
    # The same over Anthropic's protocol, and where an empty thinking is refused: github.com/can1357/oh-my-pi/pull/908,
    # github.com/NousResearch/hermes-agent/pull/14018 and /17341. Also Claude behind a gateway ("expected `thinking` …,
    # but found `tool_use`"): github.com/anomalyco/opencode/issues/3077.
    _QuirkRule(
        "thinking", "unsigned_thinking", value=True, message_pattern=_WITHOUT_THINKING, request_field="messages"
    ),
    _QuirkRule(
        "thinking", "complete_thinking", value=True, message_pattern=_WITHOUT_THINKING, request_field="messages"
    ),
    # Bedrock behind Anthropic's protocol: github.com/can1357/oh-my-pi/pull/10486.
    _QuirkRule("thinking.signature", "unsigned_thinking", False, "field required", "messages"),
    # Gemini behind a gateway or under another name: github.com/BigPizzaV3/CodexPlusPlus/issues/367.
    _QuirkRule("thought_signature", "thought_signatures", True, "missing", "messages"),
    # Models of the Responses API that do not reason: github.com/ShishirPatil/gorilla/pull/1150.
    _QuirkRule("encrypted content", "encrypted_reasoning", value=False, request_field="include"),
    # Templates of Gemma and Mistral in vLLM and llama.cpp; Mistral itself (github.com/anomalyco/opencode/issues/1680).
    _QuirkRule(
        "roles", "merge_user_messages", value=True, message_pattern="roles must alternate", request_field="messages"
    ),
    _QuirkRule("tool call id", "call_id_length", 9, "length of 9", "messages"),
    *(
        _QuirkRule(field, UNSUPPORTED, field)
        for field in (
            *("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs"),
            *("top_logprobs", "stop", "seed", "reasoning_effort", "reasoning", "thinking", "thinking_budget"),
            *("enable_thinking", "output_config", "tool_choice", "response_format"),
        )
    ),
)


def learnable_quirks(error: BadRequest, body: bytes, quirks: Mapping[str, Any]) -> Iterator[LearnableQuirk]:
    """Yield the quirks that the rejection of a request may teach, the most likely first.

    `quirks` are those of the request. ContextTooLong teaches none.
    """
    if isinstance(error, ContextTooLong):
        return
    if isinstance(error, SealedPartRefused):
        if re.search(UNKNOWN_ITEM, error.text):
            yield LearnableQuirk("id", "item_ids", value=False)
        yield _quirk_of_sealed_parts(int(quirks.get(SEALED_EPOCH, 0)))
    request = orjson.loads(body)
    for rule in _RULES:
        if (
            (rule.request_field or rule.field) in request
            and _names_field(error, rule.field)
            and re.search(rule.message_pattern, error.text)
        ):
            yield LearnableQuirk(rule.field, rule.quirk, rule.value)


def _quirk_of_sealed_parts(epoch: int) -> LearnableQuirk:
    """Return the quirk that leaves out everything sealed so far, or always if that did not help for long."""
    if epoch < _MOST_EPOCHS:
        return LearnableQuirk("earlier thinking", SEALED_EPOCH, epoch + 1)
    return LearnableQuirk("earlier thinking", "sealed_thinking", value=False)


def _names_field(error: BadRequest, field: str) -> bool:
    """Return whether an error names a field: as its parameter (a path), or in its text.

    The text does not count if the parameter is another known field.
    """
    path = re.findall(r"[a-z_]+", error.param) or [""]
    if field in (path[0], path[-1]):
        return True
    is_another = any(rule.field == path[0] for rule in _RULES)
    return not is_another and bool(re.search(rf"(?<!\w){field}(?!\w)", error.text))
