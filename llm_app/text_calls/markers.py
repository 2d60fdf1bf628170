"""Calls between the text markers of model families, for servers that do not parse them."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from llm_app.text_calls import json_calls
from llm_app.text_calls.fence import UnreadableCall
from llm_app.types import ToolCall

_SPACE = re.compile(r"\s*")
_NAME = r"(?P<name>[\w.-]{1,100}?)"
_decoder = json.JSONDecoder()


@dataclass(frozen=True)
class Markers:
    """The markers of a family: each call is `begin`, JSON, `end`; `before` and `after` may enclose all calls.

    `sign` is the literal beginning of the first `begin`. If `begin` contains a tool name, the JSON is the arguments;
    otherwise it is the call, or a list of calls.
    """

    sign: str
    begin: str
    end: str
    before: str = ""
    after: str = ""


FAMILIES = {
    "Hermes, Qwen": Markers("<tool_call>", r"<tool_call>", r"</tool_call>"),
    "Llama 3, by name": Markers("<function=", rf"<function={_NAME}>", r"</function>"),
    "Llama 3.1": Markers("<|python_tag|>", r"<\|python_tag\|>|;", r"(?:<\|eom_id\|>|<\|eot_id\|>)?"),
    "Mistral": Markers(
        "[TOOL_CALLS]",
        rf"\[TOOL_CALLS\](?:\s*{_NAME}(?:\[CALL_ID\]\w+)?(?:\[ARGS\]|(?=\s*\{{)))?",
        r"(?:</s>)?",
    ),
    "Granite, Phi": Markers("<|tool_call|>", r"<\|tool_call\|>", r"(?:<\|/tool_call\|>)?"),
    "Jamba": Markers("<tool_calls>", r"<tool_calls>", r"</tool_calls>"),
    "Nemotron": Markers("<TOOLCALL>", r"<TOOLCALL>", r"</TOOLCALL>"),
    "DeepSeek": Markers(
        "<｜tool▁call▁begin｜>",
        rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?{_NAME}(?:\n```json\n|<｜tool▁sep｜>)",
        r"(?:```)?\s*<｜tool▁call▁end｜>",
        before="<｜tool▁calls▁begin｜>",
        after="<｜tool▁calls▁end｜>",
    ),
    "Kimi": Markers(
        "<|tool_call_begin|>",
        rf"<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>",
        r"<\|tool_call_end\|>",
        before="<|tool_calls_section_begin|>",
        after="<|tool_calls_section_end|>",
    ),
    "gpt-oss": Markers(
        "<|channel|>commentary to=",
        rf"<\|channel\|>commentary to=(?:functions\.)?{_NAME} ?(?:<\|constrain\|>json)?<\|message\|>",
        r"(?:<\|call\|>)?",
    ),
}


def calls_between_markers(text: str, tools: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls in a text that is nothing but calls; none if no family's markers begin it.

    Raises: UnreadableCall for an incomplete call.
    """
    for markers in FAMILIES.values():
        is_enclosed = bool(markers.before) and text.startswith(markers.before)
        inner = text.removeprefix(markers.before).lstrip()
        if inner.startswith(markers.sign):
            return _read(inner, markers, markers.after if is_enclosed else "", tools)
    return ()


def half_call_between_markers(text: str, tools: Collection[str]) -> ToolCall | None:
    """Return the first call of a family if the text ends in the middle of it."""
    for markers in FAMILIES.values():
        inner = text.removeprefix(markers.before).lstrip()
        begin = re.match(markers.begin, inner) if inner.startswith(markers.sign) else None
        if begin:
            rest = inner[begin.end() :].lstrip()
            if name := begin.groupdict().get("name"):
                return json_calls.half_call(name, rest, tools)
            return json_calls.half_call_in_json(rest.removeprefix("["), tools)
    return None


def _read(text: str, markers: Markers, after: str, tools: Collection[str]) -> tuple[ToolCall, ...]:
    begin_pattern, end_pattern = re.compile(markers.begin), re.compile(markers.end)
    calls: list[ToolCall] = []
    position = 0
    while begin := begin_pattern.match(text, position):
        value, position = _json(text, begin.end())
        name = begin.groupdict().get("name")
        if name:
            new_calls: tuple[ToolCall, ...] = (json_calls.checked_call(name, value, tools),)
        else:
            new_calls = json_calls.calls_from_value(value, tools)
        end = end_pattern.match(text, position)
        if not new_calls or not end:
            raise UnreadableCall("it is not complete.")
        calls += new_calls
        position = _after_space(text, end.end())
    rest = text[position:].strip()
    if not calls or (rest != after and after.startswith(rest)):
        raise UnreadableCall("it is not complete.")
    if rest != after:
        raise UnreadableCall("there were words after it.")
    return tuple(calls)


def _json(text: str, position: int) -> tuple[object, int]:
    """Return the JSON value at a position, and the position after it."""
    try:
        value, end = _decoder.raw_decode(text, _after_space(text, position))
    except (ValueError, RecursionError) as error:
        raise UnreadableCall(f"its JSON is not valid or not complete ({error}).") from error
    return value, _after_space(text, end)


def _after_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
