"""Bodies of errors: their messages, the parameter that they name, and the time of the next attempt.

The request that a body may repeat is never read.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_TEXT_FIELDS = (
    *("message", "msg", "status_msg", "detail", "details", "description", "reason", "code", "type", "status", "error"),
    *("error_message", "error_msg", "errors", "base_resp"),  # Venice, Baidu, Cloudflare, MiniMax
    *("error_type", "quotaId"),  # Hugging Face; Gemini names the exceeded limit
    # OpenRouter and others pass on the error of the provider behind them: github.com/charmbracelet/crush/issues/279.
    *("metadata", "raw", "upstream_error"),
)
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
        fields = list(_text_fields(value))
        params = [param for kind, param in fields if kind == "param"]
        texts = [text for kind, text in fields if kind == "text"]
        return cls(" ".join(texts or [body]).lower(), params[0] if params else "")  # AWS and Apigee have other fields

    def has(self, phrases: Iterable[str]) -> bool:
        """Return whether the text contains any of these phrases."""
        return any(phrase in self.text for phrase in phrases)


def _text_fields(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        passed_on = _passed_on(value)
        yield from _text_fields(passed_on) if passed_on else [("text", value)]
    elif isinstance(value, list):
        for item in value:
            yield from _text_fields(item)
    elif isinstance(value, dict):
        if isinstance(param := value.get("param"), str):
            yield "param", param
            if " " in param:  # a sentence (MiMo: github.com/earendil-works/pi/issues/4602)
                yield "text", param
        if isinstance(path := value.get("loc"), list):
            yield "param", ".".join(str(part) for part in path if part != "body")
        for name in _TEXT_FIELDS:
            yield from _text_fields(value.get(name))
        for violation in value.get("violations") or ():  # Gemini
            yield from _text_fields(violation)


def _passed_on(text: str) -> dict[str, object] | None:
    """Return the body of another error that a gateway passes on as text."""
    try:
        value = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def own_words(detail: str) -> str:
    """Return the provider's message out of the `detail` of an error.

    Without a message in a known (possibly truncated) JSON form this is the complete text, but never an HTML page.
    """
    body = detail.partition(": ")[2] if detail.startswith("HTTP ") else detail
    message = re.search(r'"(?:message|status_msg|msg|detail|error_message|error_msg)"\s*:\s*"((?:[^"\\]|\\.)+)', body)
    if passed_on := re.search(r'"raw"\s*:\s*"((?:[^"\\]|\\.)+)', body):
        return own_words(passed_on[1].replace('\\"', '"'))
    text = message[1].replace('\\"', '"').replace("\\n", " ") if message else body
    text = " ".join(text.split())
    return "" if text.startswith("<") else text


# --- the time of the next attempt ---------------------------------------------------------------------------------

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(
    r"(?<![\d.])(\d++(?:\.\d++)?)\s*+(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
)
# Words of OpenAI ("Please try again in 6m0s"), Azure ("retry after 10 seconds"), Gemini ("reset after 4h2m"), Kimi
# ("try again after 1 seconds") and ChatGPT ("in 5 days 22 hours": github.com/openai/codex/issues/3899).
_DELAY_IN_WORDS = re.compile(
    r"(?:try again|retry|resets?|wait|refresh(?:es|ed)?|available)(?: again)?(?: (?:in|after|for|within|about))*"
    rf" ((?:{_DURATION.pattern}[\s,]*(?:and )?)+)"
)
# Anthropic ("regain access on 2026-12-01 at 00:00 UTC"), Z.ai ("will reset at 2026-09-09 05:38:28", without its zone).
_RESET_IN_WORDS = re.compile(
    r"(?:reset|regain access|again|available|refresh|until|重置)[^\d]{0,40}"
    r"(\d{4}-\d\d-\d\d)(?:t| at | |，)?\s*(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?\s*(utc|gmt|z|[+-]\d\d:?\d\d)?"
)
_DELAY_FIELD = re.compile(
    r'"(?:retryDelay|retry_after|retry_after_seconds|resets_in_seconds|retry-after)"\s*:\s*"?(\d+(?:\.\d+)?)',
    re.IGNORECASE,
)
# ChatGPT's `resets_at`, and the header that OpenRouter repeats in `metadata`, in seconds or milliseconds since 1970.
_RESET_FIELD = re.compile(r'"(?:resets_at|reset_at|X-RateLimit-Reset)"\s*:\s*"?(\d{10}|\d{13})\b', re.IGNORECASE)
_RESET_HEADERS = ("anthropic-ratelimit-unified-reset", "x-ratelimit-reset")


@dataclass(frozen=True, kw_only=True)
class NextAttempt:
    """The time at which the provider accepts requests again: in `seconds`, and in words for people."""

    seconds: float | None = None
    words: str = ""


def next_attempt(headers: Mapping[str, str], body: str = "", now: datetime | None = None) -> NextAttempt:
    """Return the time that an answer names, in its headers, its fields or its message."""
    now = now or datetime.now(UTC)
    seconds = retry_after_seconds(headers, body, now)
    text = body.lower()
    if seconds is None and (delay := _DELAY_IN_WORDS.search(text)):
        seconds = sum(float(number) * _seconds_of(unit) for number, unit in _DURATION.findall(delay[1]))
    if seconds is None and (reset := _RESET_IN_WORDS.search(text)):
        if not reset[3]:
            return NextAttempt(words=f"{reset[1]} {reset[2]} (by its clock)")
        seconds = _seconds_until(f"{reset[1]}T{reset[2]}{_offset(reset[3])}", now)
    return NextAttempt(seconds=seconds, words=_in_words(seconds, now))


def retry_after_seconds(headers: Mapping[str, str], body: str = "", now: datetime | None = None) -> float | None:
    """Return the delay of `Retry-After` (seconds or a date) in seconds; None if it is missing or invalid.

    Also reads OpenAI's `retry-after-ms`, and fields of the body such as Gemini's `retryDelay`. Sources: RFC 9110,
    10.2.3, and ai.google.dev/gemini-api/docs/rate-limits.
    """
    now = now or datetime.now(UTC)
    if milliseconds := _number(headers.get("retry-after-ms", "")):
        return milliseconds / 1000
    value = headers.get("Retry-After", "").strip()
    if (seconds := _number(value)) is not None:
        return seconds
    if value:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
    if delay := _DELAY_FIELD.search(body):
        return float(delay[1])
    reset = _RESET_FIELD.search(body)
    resets = [reset[1]] if reset else [headers[name] for name in _RESET_HEADERS if headers.get(name)]
    times = [_since_1970(float(digits)) for digits in resets if re.fullmatch(r"\d{10}|\d{13}", digits)]
    return max(0.0, times[0] - now.timestamp()) if times else None


def _number(value: str) -> float | None:
    value = value.strip()
    return float(value) if value.replace(".", "", 1).isdecimal() and value.isascii() else None


def _since_1970(number: float) -> float:
    return number / 1000 if number > 1e11 else number


def _seconds_of(unit: str) -> float:
    return _UNITS["ms"] if unit in ("ms", "millisecond", "milliseconds") else _UNITS[unit[0]]


def _offset(zone: str) -> str:
    return zone if zone[0] in "+-" else "+00:00"


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        return max(0.0, (datetime.fromisoformat(date) - now).total_seconds())
    except ValueError:
        return None


def _in_words(seconds: float | None, now: datetime) -> str:
    """Return a time in UTC, rounded up to a minute, such as "2026-11-28 00:10 UTC"."""
    try:
        moment = now + timedelta(seconds=(seconds or 0.0) + 59)
    except (OverflowError, ValueError):
        return ""
    return f"{moment:%Y-%m-%d %H:%M} UTC" if seconds else ""
