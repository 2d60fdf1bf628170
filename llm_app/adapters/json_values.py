"""Readers for JSON of unknown shape. Each returns its own type, or the empty value of that type."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from llm_app.errors import LLMError, UnreadableReply
from llm_app.text_calls.streams import join_surrogates
from llm_app.transport.http_errors import error_for

LARGEST_COUNT = 2**31 - 1  # the largest integer of the database; larger token counts are wrong anyway
_STATUS_CODE = re.compile(r"[45]\d\d", re.ASCII)
_STATUS_OF_ERROR = {  # error codes inside a stream, of OpenAI, Anthropic and compatible servers
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "request_too_large": 413,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "overloaded": 529,
}


def parse_object(data: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises: UnreadableReply for anything else.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _parse_leniently(data)
    if not isinstance(value, dict):
        raise UnreadableReply(data[:200])
    return value


def _parse_leniently(data: str) -> object:
    """Parse JSON with half a surrogate pair, which orjson rejects. Some servers split a character in two."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableReply(data[:200]) from error


def dictionary(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """Return a number of tokens or an index; 0 for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return min(value, LARGEST_COUNT) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def json_text(value: object) -> str:
    """Return call arguments as text. Some servers send the object itself; other values become their JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise UnreadableReply("it is nested too deeply") from error


def error_in_stream(error: object) -> LLMError:
    """Return the typed error for an error inside a 200 stream. An unknown code or type counts as status 500."""
    fields = dictionary(error)
    statuses = [status for name in ("code", "status", "type") if (status := _status(fields.get(name)))]
    return error_for(next(iter(statuses), 500), join_surrogates(json_text(error)))


def _status(code: object) -> int:
    code_text = str(code)
    return _STATUS_OF_ERROR.get(code_text) or (int(code_text) if _STATUS_CODE.fullmatch(code_text) else 0)


def strings(value: object) -> Iterator[str]:
    """Yield the texts of a content: a text, a part with a text, or a list of them."""
    for part in value if isinstance(value, list) else [value]:
        yield text(part) or text(dictionary(part).get("text"))
