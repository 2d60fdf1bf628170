"""Replies that are calls as JSON, in the variants that models use."""

import json
import re
from collections.abc import Collection
from typing import Any

from llm_app.text_calls.fence import UnreadableCall, no_such_tool
from llm_app.types import ToolCall

_NAMES = ("tool", "name", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "input", "args", "tool_input")
_OTHER_FIELDS = {"id", "type", "index"}  # fields that are allowed next to name and arguments
_LIKE_A_CALL = re.compile(r'[\[{][^"]*"(?:tool|name|function|tool_name|tool_calls|arguments|parameters)"\s*:')

_HALF_CALL = re.compile(
    rf"""\{{\s*"(?:{"|".join(_NAMES)})"\s*:\s*"(?P<name>[^"\\]+)"\s*,"""
    rf"""\s*"(?:{"|".join(_ARGUMENTS)})"\s*:\s*(?P<arguments>\{{.*)""",
    re.DOTALL,
)


def calls_in_json(text: str, tools: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls in a text that is nothing but calls; none for other text. Truncated calls are never repaired.

    Raises: UnreadableCall for text that only looks like a call.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if _LIKE_A_CALL.match(text):
            raise UnreadableCall(f"its JSON is not valid or not complete ({error}).") from error
        return ()
    return calls_from_value(value, tools)


def half_call_in_json(text: str, tools: Collection[str]) -> ToolCall | None:
    """Return the call in whose middle a text ends, with its arguments as far as they were written."""
    half = _HALF_CALL.fullmatch(text)
    return half_call(half["name"], half["arguments"], tools) if half else None


def half_call(name: str, arguments: str, tools: Collection[str]) -> ToolCall | None:
    """Return a call of a visible tool whose arguments are not complete, else None."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return ToolCall(id="", name=name, arguments=arguments) if name in tools else None
    return None


def calls_from_value(value: Any, tools: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls in a parsed value: one call, a list of calls, or an object that contains such a list.

    Raises: UnreadableCall for a value that only looks like a call.
    """
    if isinstance(value, dict) and isinstance(call_list := value.get("tool_calls"), list):
        value = call_list
    items = value if isinstance(value, list) else [value]
    if not items or not all(_looks_like_a_call(item, tools) for item in items):
        return ()
    return tuple(_call(item, tools) for item in items)


def _looks_like_a_call(value: Any, tools: Collection[str]) -> bool:
    if not isinstance(value, dict):
        return False
    name = _first_value(value, _NAMES)
    return isinstance(name, dict) or (
        isinstance(name, str) and (name in tools or _first_value(value, _ARGUMENTS) is not None)
    )


def _call(value: dict[str, Any], tools: Collection[str]) -> ToolCall:
    if isinstance(inner := value.get("function"), dict):
        return _call(inner, tools)
    name = _first_value(value, _NAMES)
    arguments = _first_value(value, _ARGUMENTS)
    if value.keys() - _OTHER_FIELDS - {*_NAMES, *_ARGUMENTS}:
        raise UnreadableCall("it has other fields beside the tool and its arguments.")
    return checked_call(name if isinstance(name, str) else "", arguments, tools)


def checked_call(name: str, arguments: Any, tools: Collection[str]) -> ToolCall:
    """Return a call of a visible tool. The arguments are an object, or its JSON text.

    Raises: UnreadableCall.
    """
    if name not in tools:
        raise no_such_tool(name, tools)
    if isinstance(arguments, str):
        try:
            is_object = isinstance(json.loads(arguments), dict)
        except (ValueError, RecursionError) as error:
            raise UnreadableCall(f"the arguments are not valid JSON ({error}).") from error
    else:
        is_object = isinstance(arguments, dict)
        arguments = json.dumps(arguments, ensure_ascii=False)
    if not is_object:
        raise UnreadableCall("the arguments are no JSON object.")
    return ToolCall(id="", name=name, arguments=arguments)


def _first_value(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if key in value), None)
