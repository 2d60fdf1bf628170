"""Quirks that are learned from rejections: a parameter named in an error → a quirk of the routes to the model.

After a rejection the same call is sent again with the quirk, and later calls use it from the start.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from llm_app.errors import BadRequest, ContextTooLong

UNSUPPORTED = "unsupported"  # a quirk with several values: the fields that are never sent
_REJECTED = (
    r"unsupported|not support|unavailable|unknown|unrecognized|unexpected|not permitted|not allowed|deprecated"
    r"|extra inputs|forbid|cannot find|incompatible|may only|may not|only .{0,60} (is|are) (allowed|supported)|does not"
)
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


def learnable_quirks(error: BadRequest, body: bytes) -> Iterator[LearnableQuirk]:
    """Yield the quirks that the rejection of a request may teach, the most likely first.

    ContextTooLong teaches none.
    """
    if isinstance(error, ContextTooLong):
        return
    request = orjson.loads(body)
    for rule in _RULES:
        if (
            (rule.request_field or rule.field) in request
            and _names_field(error, rule.field)
            and re.search(rule.message_pattern, error.text)
        ):
            yield LearnableQuirk(rule.field, rule.quirk, rule.value)


def _names_field(error: BadRequest, field: str) -> bool:
    """Return whether an error names a field: as its parameter (a path), or in its text.

    The text does not count if the parameter is another known field.
    """
    path = re.findall(r"[a-z_]+", error.param) or [""]
    if field in (path[0], path[-1]):
        return True
    is_another = any(rule.field == path[0] for rule in _RULES)
    return not is_another and bool(re.search(rf"(?<!\w){field}(?!\w)", error.text))
