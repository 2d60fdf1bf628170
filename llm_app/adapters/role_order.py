"""The order of roles in chat completions, for providers and chat templates that accept only some orders.

This works on encoded messages, each of which begins with its role. A result with pictures is encoded as two messages:
the result, and a user's message with the pictures.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from llm_app.adapters.base import RouteParameters

# Beginnings of encoded user messages: with a text, and with a list of parts.
_USER_TEXT = b'{"role":"user","content":"'
_USER_PARTS = b'{"role":"user","content":['
_USER, _ASSISTANT, _TOOL = (b'{"role":"%s"' % role for role in (b"user", b"assistant", b"tool"))
# Other clients put such a message there, too: github.com/avante-corp/avante.nvim/pull/2695,
# github.com/aliou/pi-neuralwatt/issues/12, github.com/NousResearch/hermes-agent/pull/84944. A text that joined the
# result instead would have no more weight than what a tool returned.
AFTER_TOOL = orjson.dumps({"role": "assistant", "content": "I have read the result."})
_OPENING = orjson.dumps({"role": "user", "content": "The conversation so far:"})


def needs_assistant_after_tool(parameters: RouteParameters) -> bool:
    """Return whether a user's message must not follow a result immediately."""
    return bool(parameters.quirks.get("assistant_after_tool") or parameters.quirks.get("alternate_roles"))


def put_assistant_after_tool(messages: Sequence[bytes]) -> list[bytes]:
    """Return the messages with an assistant's message between a result and a user's message."""
    ordered: list[bytes] = []
    for message in messages:
        if ordered and message.startswith(_USER) and _ends_as_result(ordered[-1]):
            ordered.append(AFTER_TOOL)
        ordered.append(message)
    return ordered


def alternate_roles(messages: Sequence[bytes]) -> list[bytes]:
    """Return the messages in alternating roles, beginning with a user's. A result counts as a user's message."""
    ordered: list[bytes] = []
    for message in put_assistant_after_tool(messages):
        if not ordered and message.startswith(_ASSISTANT):
            ordered.append(_OPENING)
        if ordered and message.startswith(_USER) and _ends_as_user_message(ordered[-1]):
            ordered[-1] = _joined(ordered[-1], message)
        elif ordered and message.startswith(_ASSISTANT) and _is_assistant_text(ordered[-1]):
            ordered[-1] = _joined_assistant(ordered[-1], message)
        else:
            ordered.append(message)
    return ordered


def merge_user_messages(messages: Sequence[bytes]) -> list[bytes]:
    """Join consecutive user messages. A message that ends in a user's text or parts is extended by the next one."""
    merged: list[bytes] = []
    for message in messages:
        if merged and message.startswith((_USER_TEXT, _USER_PARTS)) and _ends_as_user_message(merged[-1]):
            merged[-1] = _joined(merged[-1], message)
        else:
            merged.append(message)
    return merged


def _ends_as_user_message(message: bytes) -> bool:
    return message.startswith(_USER_TEXT) or _USER_PARTS in message


def _ends_as_result(message: bytes) -> bool:
    return message.startswith(_TOOL) and _USER_PARTS not in message


def _joined(first: bytes, second: bytes) -> bytes:
    """Append a user message to an encoded message: text to text, and parts in all other cases."""
    if first.startswith(_USER_TEXT) and second.startswith(_USER_TEXT):
        return first[:-2] + b"\\n\\n" + second[len(_USER_TEXT) :]
    return _as_parts(first)[:-2] + b"," + _as_parts(second)[len(_USER_PARTS) :]


def _as_parts(message: bytes) -> bytes:
    """Return an encoded user text as a list with one part. Other messages are returned unchanged."""
    if not message.startswith(_USER_TEXT):
        return message
    return _USER_PARTS + b'{"type":"text","text":"' + message[len(_USER_TEXT) :] + b"]}"


def _is_assistant_text(message: bytes) -> bool:
    return message.startswith(_ASSISTANT) and "tool_calls" not in orjson.loads(message)


def _joined_assistant(first: bytes, second: bytes) -> bytes:
    """Put an assistant's text before the assistant's next message."""
    text: dict[str, Any] = orjson.loads(first)
    fields: dict[str, Any] = orjson.loads(second)
    contents = [content for content in (text["content"], fields["content"]) if content]
    return orjson.dumps(text | fields | {"content": "\n\n".join(contents)})
