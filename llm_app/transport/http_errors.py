"""Typed errors for responses with an error status.

They hold the messages of the error body and the parameter that it names, but never the request that the body may
repeat.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from llm_app import errors
from llm_app.transport.sealed_parts import refuses_sealed_part

_TEXT_FIELDS = (
    "message",
    "msg",
    "detail",
    "details",
    "description",
    "reason",
    "code",
    "type",
    "status",
    "error",
    "errors",
)
_WRAPPED_FIELDS = ("metadata", "raw", "upstream_error")  # OpenRouter and others: the error of the provider behind them
_TEXT_FIELD = re.compile(rf'"(?:{"|".join(_TEXT_FIELDS)})"\s*:\s*"((?:[^"\\]|\\.)*)')


@dataclass(frozen=True)
class ErrorBody:
    """The parsed body of an error.

    `text` contains its messages and codes in lower case, `param` is a path such as "tools[0].function.strict".
    """

    text: str
    param: str = ""

    @classmethod
    def from_text(cls, body: str) -> "ErrorBody":
        """Parse a body.

        OpenAI, Anthropic and Google send an object `error`, vLLM and Mistral a message, FastAPI a list `detail`.
        """
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            texts = _TEXT_FIELD.findall(body) if body.startswith(("{", "[")) else ()  # truncated JSON
            return cls(" ".join(texts or [body]).lower())
        params = [param for kind, param in _text_fields(value) if kind == "param"]
        texts = [text for kind, text in _text_fields(value) if kind == "text"]
        return cls(" ".join(texts).lower(), params[0] if params else "")

    def has(self, phrases: Iterable[str]) -> bool:
        """Return whether the text contains any of these phrases."""
        return any(phrase in self.text for phrase in phrases)


def _text_fields(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "text", value
    elif isinstance(value, list):
        for item in value:
            yield from _text_fields(item)
    elif isinstance(value, dict):
        if isinstance(param := value.get("param"), str):
            yield "param", param
        if isinstance(path := value.get("loc"), list):
            yield "param", ".".join(str(part) for part in path if part != "body")
        for name in (*_TEXT_FIELDS, *_WRAPPED_FIELDS):
            yield from _text_fields(value.get(name))


def own_words(detail: str) -> str:
    """Return the provider's message out of the `detail` of an error.

    Without a message in a known (possibly truncated) JSON form this is the complete text, but never an HTML page.
    """
    body = detail.partition(": ")[2] if detail.startswith("HTTP ") else detail
    message = re.search(r'"message"\s*:\s*"((?:[^"\\]|\\.)+)', body)
    text = message[1].replace('\\"', '"').replace("\\n", " ") if message else body
    text = " ".join(text.split())
    return "" if text.startswith("<") else text


# Not included: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens" and similar messages.
_TOO_LONG = (
    "context_length_exceeded",
    "maximum context length",  # OpenAI, vLLM
    "longer than the maximum model length",  # vLLM's input processor
    "too long to fit into the model",
    "longer than the model's context length",  # SGLang
    "prompt is too long",  # Anthropic
    "exceed context limit",
    "exceeds the context window",  # OpenAI's responses
    "exceeds the maximum number of tokens allowed",  # Gemini
    "maximum prompt length",  # xAI
    "context length of only",  # LM Studio
    "exceed_context_size",  # llama.cpp
    "exceeds the available context",
    "input is too long",  # Bedrock
    "too many tokens",  # Cohere
)
# Rejected keys and accounts that come with another status. Sources: ai.google.dev/gemini-api/docs/troubleshooting
# (400), platform.openai.com/docs/guides/error-codes (429), github.com/anthropics/claude-code/issues/4684 (400).
_ACCOUNT_REJECTED = ("api_key_invalid", "credit balance is too low", "insufficient_quota")
# Rejections by llama.cpp's server, which sends them as its own errors (500): tools/server in
# github.com/ggml-org/llama.cpp.
_REFUSED_BY_LLAMA_CPP = ("requires --jinja", "jinja exception", "input is not supported", "failed to parse grammar")
# Rejections with a valid key (403): of one model, or of one conversation. Sources: the answers of OpenAI in
# github.com/Aider-AI/aider/issues/1903, openrouter.ai/docs/api/reference/errors-and-debugging (moderation, guardrails).
_MODEL_REJECTED = ("model_not_found",)
_CONTENT_REJECTED = (
    "input was flagged",
    "request blocked",
    "content_policy_violation",  # OpenAI
    "content_filter",  # Azure
    "content management policy",
    "content filtering policy",  # Anthropic
    "data_inspection_failed",  # DashScope
    "flagged as potentially violating",  # OpenAI's invalid_prompt: github.com/openai/codex/issues/7250
    "content violates usage guidelines",  # xAI: github.com/theopenco/llmgateway/pull/1785
    "content exists risk",  # DeepSeek: github.com/deepseek-ai/awesome-deepseek-integration/issues/13
    "considered high risk",  # Kimi: github.com/MoonshotAI/kimi-cli/issues/1002
    "new_sensitive",  # MiniMax, codes 1026 and 1027: github.com/MiniMax-AI/cli/pull/256
    "unsafe or sensitive content",  # Z.ai, code 1301: docs.z.ai/api-reference/api-code
    "sensitivecontentdetected",  # Volcengine Ark: volcengine.com/docs/82379/1299023
    "prohibited_content",  # Gemini: github.com/machinewrapped/llm-subtrans/issues/292
)
_FILTERED = (400, 403, 422, 500)  # 500: an error inside a stream, which has no status

# The model wrote an invalid call, so a retry may succeed (Groq: github.com/pydantic/pydantic-ai/pull/2774).
_INVALID_CALL = ("tool_use_failed",)
_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_OVERLOADED = (429, 498, 503, 529)  # 498: console.groq.com/docs/errors (capacity), 529: Anthropic
_TRANSIENT = (409, 425)  # conflict, or too early: OpenAI's own client retries these, too


def error_for(status: int, body: str, headers: Mapping[str, str] | None = None) -> errors.LLMError:
    """Return the typed error for an HTTP status and the beginning of its body."""
    detail, error_body = f"HTTP {status}: {body[:500]}", ErrorBody.from_text(body)
    kind, retry_after = _kind(status, error_body), retry_after_seconds(headers or {}, body)
    return kind(detail, status=status, retry_after=retry_after, text=error_body.text, param=error_body.param)


def _kind(status: int, error_body: ErrorBody) -> type[errors.LLMError]:
    if status >= 400 and refuses_sealed_part(error_body.text):  # gateways wrap it in any status
        return errors.SealedPartRefused
    if status == 404 or (status == 403 and error_body.has(_MODEL_REJECTED)):
        return errors.ModelNotFound
    if status in _FILTERED and error_body.has(_CONTENT_REJECTED) and not error_body.has(_ACCOUNT_REJECTED):
        return errors.ContentRefused
    if status in (401, 402, 403) or error_body.has(_ACCOUNT_REJECTED):
        return errors.AuthenticationFailed  # 402: no credit is left
    if status in _OVERLOADED:
        return errors.Overloaded
    if status < 400 or status == 405:  # another page answers at this address
        return errors.UnreadableReply
    if status == 408:
        return errors.ProviderTimeout
    if (
        status in _TRANSIENT
        or error_body.has(_INVALID_CALL)
        or (status >= 500 and not error_body.has(_REFUSED_BY_LLAMA_CPP))
    ):
        return errors.ServerError
    if status == 413 or error_body.has(_TOO_LONG):  # 413: too many pictures, for example
        return errors.ContextTooLong
    return errors.BadRequest


def retry_after_seconds(headers: Mapping[str, str], body: str = "", now: datetime | None = None) -> float | None:
    """Return the delay of `Retry-After` (seconds or a date) in seconds; None if it is missing or invalid.

    Also reads OpenAI's `retry-after-ms`, and Gemini's `retryDelay` in the body. Sources: RFC 9110, 10.2.3, and
    ai.google.dev/gemini-api/docs/rate-limits.
    """
    if milliseconds := _number(headers.get("retry-after-ms", "")):
        return milliseconds / 1000
    value = headers.get("Retry-After", "").strip()
    if not value and (delay := _DELAY.search(body)):
        return float(delay[1])
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds())


def _number(value: str) -> float | None:
    value = value.strip()
    return float(value) if value.replace(".", "", 1).isdecimal() and value.isascii() else None
