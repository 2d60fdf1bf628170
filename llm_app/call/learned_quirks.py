"""Quirks that are learned from rejections: a field or a limit named in an error → a quirk of the routes to the model.

After a rejection the same call is sent again with the quirk, and later calls use it from the start.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from llm_app.call.learned_limits import named_limits
from llm_app.errors import (
    BadRequest,
    ContentRefused,
    ContextTooLong,
    LLMError,
    ModelNotFound,
    SealedPartRefused,
    ServerError,
)
from llm_app.transport.sealed_parts import UNKNOWN_ITEM

SEALED_EPOCH = "sealed_epoch"
_MOST_EPOCHS = 2  # after more refusals, the accounts behind the address change all the time
UNSUPPORTED = "unsupported"  # a quirk with several values: the fields that are never sent
_REJECTED = (
    r"unsupported|not support|unavailable|unknown|unrecognized|unexpected|not permitted|not allowed|deprecated"
    r"|extra inputs|forbid|cannot find|incompatible|may only|may not|only .{0,60} (is|are) (allowed|supported)|does not"
    r"|extra fields|additional propert|not recogni[sz]ed|not implemented|not accept|no such|不支持|未知"
)
_BAD_VALUE = r"invalid|must be|should be|out of range|only \W?auto"
_UNKNOWN = (
    r"unsupported|unknown|unrecognized|unexpected|not permitted|extra inputs|forbid|cannot find|extra fields"
    r"|additional propert|not recogni[sz]ed|no such|不支持|未知"
)
# The content of a message with a call must be a string. Sources: the answers of Cloudflare in
# github.com/we-promise/sure/pull/467, of pydantic in github.com/mistralai/mistral-common/issues/324, of LM Studio in
# github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261, and of chat templates in github.com/Blaizzy/mlx-vlm/pull/1864
# (Python) and github.com/janhq/jan/issues/6123 (llama.cpp). Servers in Rust have "invalid type: null", Ollama has
# "invalid message content type: <nil>" (github.com/SAIL-Research-Lab/cheetahclaws/pull/72).
_NULL_CONTENT = (
    r"content\b.{0,80}'string' not in 'null'|content\b.{0,120}valid string|content\b.{0,60}must be a string"
    r"|content\b.{0,80}(?:expected|should be|of type) .{0,12}string"
    r"|content\b.{0,60}(?:none is not|(?:is|be|got) (?:null|none)|is required|field required|required field)"
    r"|content type: <nil>|content\b.{0,20}不能为空"
    r"|none is not of type 'string'|invalid type: null|nonetype|: null at row"
)
_WITHOUT_THINKING = r"must be passed back|is missing in assistant|expected .{0,40}thinking.{0,60}but found"


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
    # OpenRouter, with status 404: github.com/zed-industries/zed/issues/36094.
    _QuirkRule("tool_choice", UNSUPPORTED, "tool_choice", "no endpoints found|no .{0,20}provider.{0,40}support"),
    _QuirkRule("tool_choice", "tool_choice", "auto", rf"{_REJECTED}|{_BAD_VALUE}"),
    _QuirkRule("parallel_tool_calls", "parallel_tool_calls", value=True),
    # A gateway adds its own, up to the maximum: github.com/Wei-Shaw/sub2api/issues/176, VicBilibily/GCMP/pull/83.
    _QuirkRule(
        "cache_control",
        "cache_points",
        value=False,
        message_pattern=rf"maximum of|at most|too many|exceed|cannot be set|{_REJECTED}",
        request_field="system",
    ),
    _QuirkRule(
        "prompt caching", "cache_points", value=False, message_pattern=f"not allow|{_REJECTED}", request_field="system"
    ),
    _QuirkRule("strict", "strict_tools", value=False, message_pattern=f"too many|{_REJECTED}", request_field="tools"),
    # Anthropic ("The compiled grammar is too large"), and xAI in github.com/anomalyco/opencode/pull/20172.
    _QuirkRule("grammar", "strict_tools", value=False, message_pattern="too (large|complex)", request_field="tools"),
    # Mistral (github.com/BerriAI/litellm/issues/30835) and Groq ("property 'reasoning_content' is unsupported").
    *(
        _QuirkRule(field, "thinking_field", "", _UNKNOWN, "messages")
        for field in ("reasoning_content", "reasoning_details", "reasoning")
    ),
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
    # DeepSeek over the Responses API ("The `reasoning_text` …"): github.com/lidge-jun/opencodex/pull/4769.
    _QuirkRule("thinking", "complete_thinking", value=True, message_pattern=_WITHOUT_THINKING, request_field="input"),
    # Bedrock behind Anthropic's protocol: github.com/can1357/oh-my-pi/pull/10486.
    _QuirkRule("thinking.signature", "unsigned_thinking", False, "field required", "messages"),
    # Gemini behind a gateway or under another name: github.com/BigPizzaV3/CodexPlusPlus/issues/367.
    _QuirkRule("thought_signature", "thought_signatures", True, "missing", "messages"),
    # Models of the Responses API that do not reason: github.com/ShishirPatil/gorilla/pull/1150.
    _QuirkRule("encrypted content", "encrypted_reasoning", value=False, request_field="include"),
    # Mistral (code 3230), also at NVIDIA and behind gateways: github.com/NousResearch/hermes-agent/issues/20154.
    _QuirkRule(
        "role",
        "assistant_after_tool",
        value=True,
        message_pattern=r"role\W+user\W+(?:after|following|cannot follow)\W+(?:role\W+)?tool",
        request_field="messages",
    ),
    # Templates of Gemma and Mistral in vLLM and llama.cpp (github.com/suitenumerique/conversations/issues/197), Mistral
    # itself (github.com/anomalyco/opencode/issues/1680), Perplexity, and earlier versions of Anthropic's API.
    *(
        _QuirkRule(
            field,
            "alternate_roles",
            value=True,
            message_pattern=r"alternat|in a row|consecutive (?:user|assistant)",
            request_field="messages",
        )
        for field in ("roles", "role", "messages?", r"message\(s\)")
    ),
    _QuirkRule("tool call id", "call_id_length", 9, "length of 9", "messages"),
    *(
        _QuirkRule(field, "content_is_text", value=True, message_pattern=_NULL_CONTENT, request_field="messages")
        for field in ("content", "messages", "jinja", "nonetype", "null")
    ),
    *(
        _QuirkRule(field, UNSUPPORTED, field)
        for field in (
            *("top_k", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs"),
            *("top_logprobs", "stop", "seed", "reasoning_effort", "reasoning", "thinking", "thinking_budget"),
            *("enable_thinking", "output_config", "response_format"),
        )
    ),
    *(
        _QuirkRule(field, UNSUPPORTED, field, rf"{_REJECTED}|{_BAD_VALUE}")
        for field in ("tool_choice", "temperature", "top_p")
    ),
)


# Fields that every request needs, and one that would leave the conversation with the provider if it was omitted.
_NEEDED = frozenset(
    {
        *("model", "messages", "input", "system", "instructions", "stream", "tools", "store"),
        *("max_tokens", "max_completion_tokens"),
    }
)
_TEACHERS = (BadRequest, ModelNotFound, ServerError)


def learnable_quirks(error: LLMError, body: bytes, quirks: Mapping[str, Any]) -> Iterator[LearnableQuirk]:
    """Yield the quirks that the rejection of a request may teach, the most likely first.

    `quirks` are those of the request. The status of the rejection does not matter: OpenRouter rejects with 404, FastAPI
    with 422, llama.cpp with 500. If the context is too long, only limits can be learned.
    """
    if not isinstance(error, _TEACHERS) or isinstance(error, ContentRefused):
        return
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:  # the protocol of a plugin may be another one
        return
    for limit in named_limits(error, request):
        yield LearnableQuirk(limit.field, limit.quirk, limit.value)
    if isinstance(error, ContextTooLong):
        return
    if isinstance(error, SealedPartRefused):
        if re.search(UNKNOWN_ITEM, error.text):
            yield LearnableQuirk("id", "item_ids", value=False)
        yield _quirk_of_sealed_parts(quirks.get(SEALED_EPOCH))
    words = f"{error.param.lower()} {error.text}"
    for rule in _RULES:
        if (
            (rule.request_field or rule.field) in request
            and _names_field(error, rule.field)
            and re.search(rule.message_pattern, words)
        ):
            yield LearnableQuirk(rule.field, rule.quirk, rule.value)
    if re.search(_UNKNOWN, error.text):
        for field in sorted(request.keys() - _NEEDED):
            if _names_unknown_field(error, field):
                yield LearnableQuirk(field, UNSUPPORTED, field)


def _quirk_of_sealed_parts(current: object) -> LearnableQuirk:
    """Return the quirk that leaves out everything sealed so far, or always if that did not help for long."""
    epoch = current if isinstance(current, int) else 0
    if epoch < _MOST_EPOCHS:
        return LearnableQuirk("earlier thinking", SEALED_EPOCH, epoch + 1)
    return LearnableQuirk("earlier thinking", "sealed_thinking", value=False)


def _names_field(error: LLMError, field: str) -> bool:
    """Return whether an error names a field: as its parameter (a path), or in its text.

    The text does not count if the parameter is another known field.
    """
    path = re.findall(r"[a-z_]+", error.param) or [""]
    if field in (path[0], path[-1]):
        return True
    is_another = path[0] != "messages" and any(rule.field == path[0] for rule in _RULES)
    return not is_another and bool(re.search(rf"(?<!\w){field}(?!\w)", error.text))


def _names_unknown_field(error: LLMError, field: str) -> bool:
    """Return whether an error names any field of a request, whose name may be a common word."""
    return error.param == field or bool(re.search(_named_as_field(field), error.text))


def _named_as_field(field: str) -> str:
    """Return a pattern of sentences that name a field: in quotes, announced as a field, or before a colon."""
    name = re.escape(field.lower())
    announced = rf"(?:field|parameter|param|argument|property|key|supplied|inputs)s?\W{{1,3}}{name}(?!\w)"
    return rf"['\"`“]{name}['\"`”]|{announced}|(?<![\w.]){name}: "
