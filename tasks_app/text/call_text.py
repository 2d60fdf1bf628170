"""The searchable text of a tool call: messages to people, and names of files."""

import json
from collections.abc import Iterator
from typing import Any

_MESSAGE_ARGUMENTS = ("text", "options", "suggestions")  # arguments of the tool `message`
_FILE_ARGUMENTS = ("path", "paths", "to", "attachments")  # arguments of any tool


def text_of_call(tool_call: str) -> str:
    """Return the texts of a call's JSON, one a line, or '' if its arguments are not valid JSON."""
    try:
        call = json.loads(tool_call)
        arguments = json.loads(call["arguments"])
    except (ValueError, TypeError, KeyError, RecursionError):  # models can write anything
        return ""
    if not isinstance(arguments, dict):
        return ""
    names = (*_MESSAGE_ARGUMENTS, *_FILE_ARGUMENTS) if call.get("name") == "message" else _FILE_ARGUMENTS
    return "\n".join(text for name in names for text in _texts(arguments.get(name)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
