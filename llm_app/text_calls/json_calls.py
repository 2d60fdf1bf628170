"""A reply that is nothing but a call as JSON, in the spellings that models use."""

import json
import re
from collections.abc import Collection
from typing import Any

from llm_app.text_calls.fence import Unreadable, no_such_tool
from llm_app.types import ToolCall

_NAMES = ("tool", "name", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "input", "args", "tool_input")
_BESIDE = {"id", "type", "index"}  # what is allowed beside name and arguments
_LIKE_A_CALL = re.compile(r'[\[{][^"]*"(?:tool|name|function|tool_name|tool_calls|arguments|parameters)"\s*:')


def calls_in_json(text: str, tools: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls that `text` is; none if it is something else. Raises Unreadable for what only looks like a call.

    Nothing is repaired: a call that was cut off must never run.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if _LIKE_A_CALL.match(text):
            raise Unreadable(f"its JSON is not valid or not complete ({error}).") from error
        return ()
    return calls_from_value(value, tools)


def calls_from_value(value: Any, tools: Collection[str]) -> tuple[ToolCall, ...]:
    """The same for what was parsed already: one call, a list of calls, or an object that holds such a list."""
    if isinstance(value, dict) and isinstance(listed := value.get("tool_calls"), list):
        value = listed
    items = value if isinstance(value, list) else [value]
    if not items or not all(_looks_like_a_call(item, tools) for item in items):
        return ()
    return tuple(_call(item, tools) for item in items)


def _looks_like_a_call(value: Any, tools: Collection[str]) -> bool:
    if not isinstance(value, dict):
        return False
    name = _first(value, _NAMES)
    return isinstance(name, dict) or (
        isinstance(name, str) and (name in tools or _first(value, _ARGUMENTS) is not None)
    )


def _call(value: dict[str, Any], tools: Collection[str]) -> ToolCall:
    if isinstance(inner := value.get("function"), dict):
        return _call(inner, tools)
    name = _first(value, _NAMES)
    arguments = _first(value, _ARGUMENTS)
    if value.keys() - _BESIDE - {*_NAMES, *_ARGUMENTS}:
        raise Unreadable("it has other fields beside the tool and its arguments.")
    return checked_call(name if isinstance(name, str) else "", arguments, tools)


def checked_call(name: str, arguments: Any, tools: Collection[str]) -> ToolCall:
    """A call of a visible tool with an object as arguments, or the JSON text of one. Raises Unreadable."""
    if name not in tools:
        raise no_such_tool(name, tools)
    if isinstance(arguments, str):
        try:
            is_object = isinstance(json.loads(arguments), dict)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"the arguments are not valid JSON ({error}).") from error
    else:
        is_object = isinstance(arguments, dict)
        arguments = json.dumps(arguments, ensure_ascii=False)
    if not is_object:
        raise Unreadable("the arguments are no JSON object.")
    return ToolCall(id="", name=name, arguments=arguments)


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if key in value), None)
