"""The interpretation of a complete reply: one call, several calls, or text."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from llm_app.text_calls import json_calls, markers, xml_calls
from llm_app.text_calls.fence import UnreadableCall, without_fence, without_fence_line
from llm_app.text_calls.last_block import BLOCK, split_block
from llm_app.types import Origin, ToolCall

# Beginnings of a call in all forms except JSON.
SIGNS = (
    BLOCK,
    "<invoke ",
    "<minimax:tool_call>",
    *(sign for family in markers.FAMILIES.values() for sign in (family.before, family.sign) if sign),
)
_TEXT_AROUND_CALL = "there were words beside it; a call that is written as text must be the whole reply."
_MISPLACED_BLOCK = (
    "it must be one block at the end of the reply, whose first tag begins a line, outside of code fences and quotes."
)

_CUT = "it reached the output limit before its end; say less in one call."


@dataclass(frozen=True, kw_only=True)
class ParsedReply:
    """A parsed reply.

    `leading_text` is the text before the calls, `unreadable` tells the model why a possible call is not valid.

    Without calls and `unreadable`, the reply is text.
    """

    calls: tuple[ToolCall, ...] = ()
    leading_text: str = ""
    origin: Origin = "native"
    unreadable: str = ""


def read_reply(text: str, tools: Collection[str]) -> ParsedReply:
    """Parse a reply without its thinking. `tools` are the names of the visible tools.

    A call only counts if the complete text, apart from a code fence around it, consists of complete calls of visible
    tools. Calls that are quoted in prose or code are text.
    """
    reply = without_fence(text)
    try:
        if calls := xml_calls.calls_in_xml(reply, tools):
            return ParsedReply(calls=calls, origin="xml")
        if calls := markers.calls_between_markers(reply, tools):
            return ParsedReply(calls=calls, origin="text")
        if calls := json_calls.calls_in_json(reply, tools):
            return ParsedReply(calls=calls, origin="json")
    except UnreadableCall as fault:
        return ParsedReply(unreadable=str(fault))
    except RecursionError:
        return ParsedReply(unreadable="it is nested too deeply.")
    return ParsedReply(unreadable=_TEXT_AROUND_CALL if any(sign in text for sign in SIGNS) else "")


def read_cut_reply(text: str, tools: Collection[str]) -> ParsedReply:
    """Parse a reply that was cut at the output limit.

    The arguments of a half call are invalid JSON, so it never runs.
    """
    reply = without_fence_line(text)
    if call := xml_calls.half_call_in_xml(reply, tools):
        return ParsedReply(calls=(call,), origin="xml")
    if call := markers.half_call_between_markers(reply, tools):
        return ParsedReply(calls=(call,), origin="text")
    if call := json_calls.half_call_in_json(reply, tools):
        return ParsedReply(calls=(call,), origin="json")
    return ParsedReply(unreadable=_CUT)


def read_cut_reply_in_xml(text: str, tools: Collection[str]) -> ParsedReply:
    """Parse a cut reply in XML mode, in which text may precede the call."""
    reply_text, block = split_block(text)
    return replace(read_cut_reply(block or text, tools), leading_text=reply_text if block else "")


def read_reply_in_xml(text: str, tools: Collection[str]) -> ParsedReply:
    """Parse a reply in XML mode, whose prompt teaches the form: text may precede the one block of calls."""
    reply_text, block = split_block(text)
    if not reply_text or not block:
        parsed = read_reply(text, tools)
        is_misplaced = parsed.unreadable == _TEXT_AROUND_CALL
        return ParsedReply(unreadable=_MISPLACED_BLOCK) if is_misplaced else parsed
    try:
        calls = xml_calls.calls_in_xml(block.strip(), tools, blocks=1)
        return ParsedReply(calls=calls, leading_text=reply_text, origin="xml")
    except UnreadableCall as fault:
        return ParsedReply(unreadable=str(fault))
