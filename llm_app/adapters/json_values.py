"""Readers for JSON of unknown shape. Each returns its own type, or the empty value of that type."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from llm_app.errors import LLMError, StreamCut, UnreadableReply
from llm_app.text_calls.streams import join_surrogates
from llm_app.transport.http_errors import error_for

LARGEST_COUNT = 2**31 - 1  # the largest integer of the database; larger token counts are wrong anyway
_STATUS_CODE = re.compile(r"[45]\d\d", re.ASCII)
_NO_LETTER = re.compile(r"[^a-z]+")
# Error codes and types inside a stream, of OpenAI, Anthropic, Google, Azure and compatible servers; only the letters.
_STATUS_OF_ERROR = {
    "authenticationerror": 401,
    "invalidapikey": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "insufficientbalanceerror": 402,
    "permissionerror": 403,
    "permissiondenied": 403,
    "permissiondeniederror": 403,
    "forbidden": 403,
    "invalidrequesterror": 400,
    "invalidprompt": 400,
    "invalidargument": 400,
    "invalidparameter": 400,
    "invalidparametererror": 400,
    "badrequest": 400,
    "badrequesterror": 400,
    "failedprecondition": 400,
    "contextlengthexceeded": 400,
    "exceedcontextsizeerror": 400,
    "requesttoolarge": 413,
    "notfound": 404,
    "notfounderror": 404,
    "modelnotfound": 404,
    "ratelimiterror": 429,
    "ratelimitexceeded": 429,
    "ratelimitreachederror": 429,
    "toomanyrequests": 429,
    "resourceexhausted": 429,
    "throttling": 429,
    "throttlingexception": 429,
    "insufficientquota": 429,
    "usagelimitreached": 429,
    "apierror": 500,
    "internal": 500,
    "internalerror": 500,
    "internalservererror": 500,
    "servererror": 500,
    "serviceunavailable": 503,
    "serviceunavailableerror": 503,
    "unavailable": 503,
    "unavailableerror": 503,
    "engineoverloadederror": 503,
    "serveroverloaded": 503,
    "timeouterror": 504,
    "deadlineexceeded": 504,
    "overloadederror": 529,
    "overloaded": 529,
}
# MiniMax's codes: platform.minimax.io/docs/api-reference/errorcode.
_STATUS_OF_MINIMAX = {
    1001: 504,
    1002: 429,
    1004: 401,
    1008: 402,
    1026: 400,
    1027: 400,
    1039: 429,
    1041: 429,
    2013: 400,
    2045: 429,
    2049: 401,
    2056: 429,
    2061: 403,
}
_ERROR_TEXTS = ("message", "msg", "detail", "errors")
_STATUS_FIELDS = ("code", "status", "type", "http_code", "status_code", "error_type", "error_code")


def parse_object(data: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises: StreamCut for the beginning of an object, UnreadableReply for anything else.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _parse_leniently(data)
    if isinstance(value, list) and value and "error" in dictionary(value[0]):  # Gemini
        value = value[0]
    if not isinstance(value, dict):
        raise UnreadableReply(data[:200])
    return value


def _parse_leniently(data: str) -> object:
    """Parse JSON with half a surrogate pair, which orjson rejects. Some servers split a character in two."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(data.rstrip()) or error.msg.startswith("Unterminated string")
        kind = StreamCut if is_cut and data.lstrip().startswith("{") else UnreadableReply
        raise kind(data[:200]) from error
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


def error_in_event(event: dict[str, Any], event_name: str = "") -> LLMError | None:
    """Return the typed error of an event that is an error in any known form, or None.

    The fields of the error may be at the top level. MiniMax sends `base_resp` with a code next to the choices; a code
    of 0 is no error.
    """
    if error := event.get("error"):
        return error_in_stream(error)
    base = event.get("base_resp")
    if isinstance(base, dict) and (code := count(base.get("status_code"))):
        return error_for(_STATUS_OF_MINIMAX.get(code, 500), json_text(event))
    if event.get("choices"):
        return None
    # Venice has `error_message`, Baidu `error_msg`: github.com/NousResearch/hermes-agent/issues/68451.
    is_named = bool(event.get("error_message") or event.get("error_msg"))
    if is_named or "error" in (event_name, event.get("object"), event.get("type")):
        return error_in_stream(event)
    is_answer = any(event.get(name) for name in ("object", "type", "candidates", "content", "usage"))
    if not is_answer and any(name in event for name in ("code", "status", "success")) and _has_error_text(event):
        return error_in_stream(event)
    return None


def _has_error_text(event: dict[str, Any]) -> bool:
    return any(event.get(name) for name in _ERROR_TEXTS)


def error_in_stream(error: object) -> LLMError:
    """Return the typed error for an error inside a 200 stream. An unknown code or type counts as status 500."""
    fields = dictionary(error)
    statuses = [status for name in _STATUS_FIELDS if (status := _status(fields.get(name)))]
    return error_for(next(iter(statuses), 500), join_surrogates(json_text(error)))


def _status(code: object) -> int:
    code_text = str(code)
    if _STATUS_CODE.fullmatch(code_text):
        return int(code_text)
    return _STATUS_OF_ERROR.get(_NO_LETTER.sub("", code_text.lower()), 0)


def strings(value: object) -> Iterator[str]:
    """Yield the texts of a content: a text, a part with a text, or a list of them."""
    for part in value if isinstance(value, list) else [value]:
        yield text(part) or text(dictionary(part).get("text"))
