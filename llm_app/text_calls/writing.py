"""Calls and results as text, for the history of models without native tool calls."""

import re
from typing import Any

import orjson

from llm_app.text_calls.xml_value import CDATA_BEGIN, CDATA_END
from llm_app.types import Message, ToolCall

_PLAIN_NAME = re.compile(r"[^\"'<>\s]{1,100}")
_PARAMETER_TAGS = ("<parameter", "</parameter", CDATA_BEGIN)


def object_in(arguments: str) -> dict[str, Any]:
    """Return call arguments as an object. Other values are wrapped as `unreadable_arguments`."""
    try:
        value = orjson.loads(arguments)
        orjson.dumps(value)  # raises for values that are nested too deeply
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        value = None
    return value if isinstance(value, dict) else {"unreadable_arguments": arguments}


def xml_message(message: Message) -> str:
    """Return a message in XML mode: its text, or the result in its tag, then the call."""
    parts = [tool_result_text(message.content) if message.role == "tool" else message.content]
    if message.tool_call:
        parts.append(xml_call(message.tool_call))
    return "\n".join(part for part in parts if part.strip())


def xml_call(call: ToolCall) -> str:
    """Return a call in the form of the XML mode. Strings are written unchanged, other values as JSON."""
    arguments = object_in(call.arguments)
    if not all(map(_PLAIN_NAME.fullmatch, arguments)):
        arguments = {"unreadable_arguments": call.arguments}
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        lines.append(f'<parameter name="{name}">{_with_cdata(text, _PARAMETER_TAGS)}</parameter>')
    return "\n".join(["<function_calls>", f'<invoke name="{call.name}">', *lines, "</invoke>", "</function_calls>"])


def json_call(call: ToolCall) -> str:
    """Return a call in the form of the JSON mode. The arguments stay as the model wrote them."""
    is_object = "unreadable_arguments" not in object_in(call.arguments)
    arguments = call.arguments if is_object else orjson.dumps({"unreadable_arguments": call.arguments}).decode()
    return f'{{"tool": {orjson.dumps(call.name).decode()}, "arguments": {arguments}}}'


def tool_result_text(content: str) -> str:
    """Return a tool result inside a tag that its content cannot close."""
    return f"<tool_result>\n{_with_cdata(content, ('</tool_result', CDATA_BEGIN))}\n</tool_result>"


def _with_cdata(text: str, ambiguous_tags: tuple[str, ...]) -> str:
    """Return the text, as CDATA if it could be misread. A CDATA end in the text is split between two sections."""
    if not any(tag in text for tag in ambiguous_tags):
        return text
    return CDATA_BEGIN + text.replace(CDATA_END, "]]" + CDATA_END + CDATA_BEGIN + ">") + CDATA_END
