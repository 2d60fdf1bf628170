"""Values out of JSON of unknown shape: each reader returns its type, or that type's empty value."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from llm_app.errors import LLMError, UnreadableReply
from llm_app.text_calls.streams import whole
from llm_app.transport.http_errors import error_for

LARGEST_COUNT = 2**31 - 1  # what a database's integer holds; a provider that counts more tokens is wrong
_STATUS = re.compile(r"[45]\d\d", re.ASCII)
_STATUSES = {  # what OpenAI, Anthropic and those who speak like them call their errors inside a stream
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
    """The JSON object in `data`. Raises UnreadableReply for anything else."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _lenient(data)
    if not isinstance(value, dict):
        raise UnreadableReply(data[:200])
    return value


def _lenient(data: str) -> object:
    """Half a surrogate pair is an error to orjson; it comes when a server cuts a character in two."""
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
    """A number of tokens, or an index."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return min(value, LARGEST_COUNT) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def json_text(value: object) -> str:
    """Arguments as text; some servers send the object itself. Anything else stays visible as what it was."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise UnreadableReply("it is nested too deeply") from error


def error_in_stream(error: object) -> LLMError:
    """An error inside a 200 stream: its code or its type is read like a status; 500 if neither is known."""
    fields = dictionary(error)
    known = [status for name in ("code", "status", "type") if (status := _status(fields.get(name)))]
    return error_for(next(iter(known), 500), whole(json_text(error)))


def _status(code: object) -> int:
    written = str(code)
    return _STATUSES.get(written) or (int(written) if _STATUS.fullmatch(written) else 0)


def strings(value: object) -> Iterator[str]:
    """The texts in a text, in a part with a text, or in a list of them: contents come in all three."""
    for part in value if isinstance(value, list) else [value]:
        yield text(part) or text(dictionary(part).get("text"))
