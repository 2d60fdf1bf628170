"""Conversion of entries to LLM messages. Does no I/O: the same entry always gives the same message."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from llm_app.types import Message, Picture, Thinking, ToolCall
from tasks_app.models import ContextEntry, ContextType

SENT_OF_CUT = 200  # characters of a call's arguments or of a text without a call
_NO_BLOBS: Mapping[str, str] = MappingProxyType({})
_TAGGED = (ContextType.SYSTEM_REMINDER, ContextType.WORKFLOW_STEP, ContextType.HANDOFF)


def message_of(entry: ContextEntry, blobs: Mapping[str, str] = _NO_BLOBS) -> Message:
    """Return the message of an entry. Raises ValueError for an entry that is not in the context.

    `blobs` maps the addresses of its pictures to their base64 contents.
    """
    if not entry.in_context:
        raise ValueError(f"entry {entry.seq} is not in the context")
    common: dict[str, Any] = {"seq": entry.seq, "masked_with": entry.masked_with}
    if entry.context_type in _TAGGED:
        tagged = f"<{entry.context_type}>\n{entry.content}\n</{entry.context_type}>"
        return Message(role="user", content=tagged, **common)
    if entry.context_type == ContextType.TOOL_RESULT:
        pictures = _pictures(entry, blobs)
        return Message(role="tool", content=entry.content, tool_call_id=entry.tool_call_id, pictures=pictures, **common)
    if entry.context_type == ContextType.CLIENT_HISTORY:
        return Message(role="user" if entry.role == "user" else "assistant", content=entry.content, **common)
    if entry.context_type == ContextType.USER_MESSAGE:
        return Message(role="user", content=entry.content, pictures=_pictures(entry, blobs), **common)
    return Message(
        role="assistant", content=sent_text(entry), thinking=thinking_of(entry), tool_call=sent_call(entry), **common
    )


def sent_text(entry: ContextEntry) -> str:
    """Return the text of an entry as requests have it. A cut text without a call keeps only its beginning."""
    if entry.has_call or not entry.is_cut or len(entry.content) <= SENT_OF_CUT:
        return entry.content
    return f"{entry.content[:SENT_OF_CUT]}…"


def sent_call(entry: ContextEntry) -> ToolCall | None:
    """Return the call of an entry as requests have it. A cut call keeps only its beginning, which says what it was."""
    call = ToolCall(**entry.call) if entry.call else None
    if call is None or not entry.is_cut:
        return call
    return replace(call, arguments=f"{call.arguments[:SENT_OF_CUT]}…")


def thinking_of(entry: ContextEntry) -> Thinking | None:
    """Return the model's thinking, including its signed blocks."""
    if not entry.thinking:
        return None
    fields = json.loads(entry.thinking)
    return Thinking(**fields | {"blocks": tuple(fields["blocks"])})


def _pictures(entry: ContextEntry, blobs: Mapping[str, str]) -> tuple[Picture, ...]:
    return tuple(
        Picture(
            path=picture["path"],
            media_type=picture["media_type"],
            width=picture["width"],
            height=picture["height"],
            data=blobs[picture["sha256"]],
        )
        for picture in entry.pictures
    )
