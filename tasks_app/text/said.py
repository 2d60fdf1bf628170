"""The words of a call that people read, and the files that it names: search finds a session by them."""

import json
from collections.abc import Iterator
from typing import Any

_SPOKEN = ("text", "options", "suggestions")  # arguments of the tool `message`
_FILES = ("path", "to", "attachments")  # arguments of any tool


def said_in(tool_call: str) -> str:
    """Return them, a line each, of the JSON text of a call; '' where its arguments cannot be read."""
    try:
        call = json.loads(tool_call)
        arguments = json.loads(call["arguments"])
    except (ValueError, TypeError, KeyError, RecursionError):  # models write what they like
        return ""
    if not isinstance(arguments, dict):
        return ""
    names = (*_SPOKEN, *_FILES) if call.get("name") == "message" else _FILES
    return "\n".join(text for name in names for text in _texts(arguments.get(name)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (each for each in value if isinstance(each, str))
