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
_REFUSED = (
    r"unsupported|not support|unavailable|unknown|unrecognized|unexpected|not permitted|not allowed|deprecated"
    r"|extra inputs|forbid|cannot find|incompatible|may only|may not|only .{0,60} (is|are) (allowed|supported)|does not"
)
_UNKNOWN = r"unsupported|unknown|unrecognized|unexpected|not permitted|extra inputs|forbid|cannot find"


@dataclass(frozen=True)
class Lesson:
    """A learned quirk. `field` is the rejected field of the request."""

    field: str
    quirk: str
    value: Any

    @property
    def sentence(self) -> str:
        return f"The model provider refused “{self.field}” in the request. It is sent again in another form."


@dataclass(frozen=True)
class _Rule:
    """A rule that applies if the request has the field `sent` (default: `field`) and the error names `field` and
    matches `says`.
    """

    field: str
    quirk: str
    value: Any
    says: str = _REFUSED
    sent: str = ""


_RULES = (
    _Rule("max_tokens", "max_tokens_field", "max_completion_tokens", "max_completion_tokens"),
    _Rule("max_completion_tokens", "max_tokens_field", "max_tokens", _UNKNOWN),
    _Rule("stream_options", "stream_usage", value=False),
    # GPT-5.6 and later, in chat completions: github.com/BerriAI/litellm/pull/34569.
    _Rule("reasoning_effort", "reasoning_effort", "none", "reasoning_effort to 'none'", sent="tools"),
    # Claude: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
    _Rule("thinking", "thinking_form", "adaptive", r"thinking\.type\.adaptive"),
    _Rule("thinking", "thinking_form", "budget", "adaptive thinking is not supported"),
    _Rule(
        "tool_choice", "parallel_tool_calls", value=True, says=r"disable_parallel_tool_use.{0,200}(extra|not permitted)"
    ),
    _Rule("tool_choice", "tool_choice", "auto"),
    _Rule("parallel_tool_calls", "parallel_tool_calls", value=True),
    _Rule("cache_control", "cache_points", value=False, sent="system"),
    # DeepSeek and Kimi. Sources: github.com/abhigyanpatwari/GitNexus/issues/43,
    # and github.com/JohnnyZ93/oai-compatible-copilot/issues/140.
    _Rule(
        "reasoning_content",
        "thinking_field",
        "reasoning_content",
        "missing|must be passed|must be provided",
        "messages",
    ),
    # Templates of Gemma and Mistral in vLLM and llama.cpp; Mistral itself (github.com/anomalyco/opencode/issues/1680).
    _Rule("roles", "merge_user_messages", value=True, says="roles must alternate", sent="messages"),
    _Rule("tool call id", "call_id_length", 9, "length of 9", "messages"),
    *(
        _Rule(field, UNSUPPORTED, field)
        for field in (
            *("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs"),
            *("top_logprobs", "stop", "seed", "reasoning_effort", "reasoning", "thinking", "thinking_budget"),
            *("enable_thinking", "output_config", "tool_choice", "response_format"),
        )
    ),
)


def lessons_of(error: BadRequest, body: bytes) -> Iterator[Lesson]:
    """Yield the quirks that the rejection of a request may teach, the most likely first.

    ContextTooLong teaches none.
    """
    if isinstance(error, ContextTooLong):
        return
    sent = orjson.loads(body)
    for rule in _RULES:
        if (rule.sent or rule.field) in sent and _names(error, rule.field) and re.search(rule.says, error.words):
            yield Lesson(rule.field, rule.quirk, rule.value)


def _names(error: BadRequest, field: str) -> bool:
    """Return whether an error names a field: as its parameter (a path), or in its text.

    The text does not count if the parameter is another known field.
    """
    path = re.findall(r"[a-z_]+", error.param) or [""]
    if field in (path[0], path[-1]):
        return True
    is_another = any(rule.field == path[0] for rule in _RULES)
    return not is_another and bool(re.search(rf"(?<!\w){field}(?!\w)", error.words))
