"""Typed errors for replies with an error status.

They carry the words of the error's body and the parameter that it names, never the request that it repeats.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from llm_app import errors

_WORDS = ("message", "msg", "detail", "details", "description", "reason", "code", "type", "status", "error")
_SAID = re.compile(rf'"(?:{"|".join(_WORDS)})"\s*:\s*"((?:[^"\\]|\\.)*)')


@dataclass(frozen=True)
class ErrorBody:
    """`words` are those of messages and codes, in lower case; `param` is a path such as "tools[0].function.strict"."""

    words: str
    param: str = ""

    @classmethod
    def from_text(cls, body: str) -> "ErrorBody":
        """OpenAI, Anthropic and Google have an object `error`, vLLM and Mistral a message, FastAPI a list `detail`."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            said = _SAID.findall(body) if body.startswith(("{", "[")) else ()  # JSON, cut
            return cls(" ".join(said or [body]).lower())
        params = [param for found, param in _leaves(value) if found == "param"]
        words = [text for found, text in _leaves(value) if found == "words"]
        return cls(" ".join(words).lower(), params[0] if params else "")

    def has(self, signs: Iterable[str]) -> bool:
        """Return whether any of these signs is in the words."""
        return any(sign in self.words for sign in signs)


def _leaves(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "words", value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        if isinstance(param := value.get("param"), str):
            yield "param", param
        if isinstance(path := value.get("loc"), list):
            yield "param", ".".join(str(part) for part in path if part != "body")
        for name in _WORDS:
            yield from _leaves(value.get(name))


def own_words(detail: str) -> str:
    """The provider's message in the `detail` of an error, where it is JSON of a known form, which may have been cut;
    else all of it, and nothing of a page of HTML."""
    body = detail.partition(": ")[2] if detail.startswith("HTTP ") else detail
    message = re.search(r'"message"\s*:\s*"((?:[^"\\]|\\.)+)', body)
    text = message[1].replace('\\"', '"').replace("\\n", " ") if message else body
    text = " ".join(text.split())
    return "" if text.startswith("<") else text


# Not among them: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens" and its like.
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
# A key or an account that is refused under another status. Sources: ai.google.dev/gemini-api/docs/troubleshooting
# (400), platform.openai.com/docs/guides/error-codes (429), github.com/anthropics/claude-code/issues/4684 (400).
_NO_ACCOUNT = ("api_key_invalid", "credit balance is too low", "insufficient_quota")
# Refusals of llama.cpp's server, which calls them its own errors (500): tools/server in github.com/ggml-org/llama.cpp.
_REFUSED_BY_LLAMA_CPP = ("requires --jinja", "jinja exception", "input is not supported", "failed to parse grammar")
# What is refused to a key that is accepted (403): one model, or one conversation. Sources: the answers of OpenAI in
# github.com/Aider-AI/aider/issues/1903, openrouter.ai/docs/api/reference/errors-and-debugging (moderation, guardrails).
_OF_THE_MODEL = ("model_not_found",)
_OF_THE_WORDS = (
    "input was flagged",
    "request blocked",
    "content_policy_violation",  # OpenAI
    "content_filter",  # Azure
    "content management policy",
    "content filtering policy",  # Anthropic
    "data_inspection_failed",  # DashScope
)
_FILTERED = (400, 403, 422, 500)  # 500: an error of a stream, which has no status of its own

# The model's answer, which was no valid call: another one may be (Groq: github.com/pydantic/pydantic-ai/pull/2774).
_OF_THE_ANSWER = ("tool_use_failed",)
_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_OVERLOADED = (429, 498, 503, 529)  # 498: console.groq.com/docs/errors (capacity), 529: Anthropic
_TRANSIENT = (409, 425)  # a lock, or too early: OpenAI's own client tries again, too


def error_for(status: int, body: str, headers: Mapping[str, str] | None = None) -> errors.LLMError:
    """The typed error for an HTTP status and the beginning of its body."""
    detail, said = f"HTTP {status}: {body[:500]}", ErrorBody.from_text(body)
    kind, later = _kind(status, said), retry_after_seconds(headers or {}, body)
    return kind(detail, status=status, retry_after=later, words=said.words, param=said.param)


def _kind(status: int, said: ErrorBody) -> type[errors.LLMError]:
    if status == 404 or (status == 403 and said.has(_OF_THE_MODEL)):
        return errors.ModelNotFound
    if status in _FILTERED and said.has(_OF_THE_WORDS) and not said.has(_NO_ACCOUNT):
        return errors.ContentRefused
    if status in (401, 402, 403) or said.has(_NO_ACCOUNT):
        return errors.AuthenticationFailed  # 402: no credit is left
    if status in _OVERLOADED:
        return errors.Overloaded
    if status < 400 or status == 405:  # another page is there
        return errors.UnreadableReply
    if status == 408:
        return errors.ProviderTimeout
    if status in _TRANSIENT or said.has(_OF_THE_ANSWER) or (status >= 500 and not said.has(_REFUSED_BY_LLAMA_CPP)):
        return errors.ServerError
    if status == 413 or said.has(_TOO_LONG):  # 413: of many pictures, for example
        return errors.ContextTooLong
    return errors.BadRequest


def retry_after_seconds(headers: Mapping[str, str], body: str = "", now: datetime | None = None) -> float | None:
    """`Retry-After`, in seconds or as a date; None where it is missing or makes no sense. Source: RFC 9110, 10.2.3.

    Also OpenAI's `retry-after-ms`, and Gemini's `retryDelay` in the body: ai.google.dev/gemini-api/docs/rate-limits.
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
