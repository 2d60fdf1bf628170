"""The interpretation of a complete reply: one call, several calls, or text."""

from collections.abc import Collection
from dataclasses import dataclass

from llm_app.text_calls import json_calls, markers, xml_calls
from llm_app.text_calls.fence import Unreadable, unfenced
from llm_app.text_calls.last_block import BLOCK, split_reply
from llm_app.types import Origin, ToolCall

# Beginnings of a call in all forms except JSON.
SIGNS = (
    BLOCK,
    "<invoke ",
    "<minimax:tool_call>",
    *(sign for family in markers.FAMILIES.values() for sign in (family.before, family.sign) if sign),
)
_NOT_ALONE = "there were words beside it; a call that is written as text must be the whole reply."
_NOT_THE_END = (
    "it must be one block at the end of the reply, whose first tag begins a line, outside of code fences and quotes."
)


@dataclass(frozen=True, kw_only=True)
class ReplyReading:
    """A parsed reply.

    `words` is the text before the calls, `unreadable` tells the model why a possible call is not valid.

    Without calls and `unreadable`, the reply is text.
    """

    calls: tuple[ToolCall, ...] = ()
    words: str = ""
    origin: Origin = "native"
    unreadable: str = ""


def read_reply(text: str, tools: Collection[str]) -> ReplyReading:
    """Parse a reply without its thinking. `tools` are the names of the visible tools.

    A call only counts if the complete text, apart from a code fence around it, consists of complete calls of visible
    tools. Calls that are quoted in prose or code are text.
    """
    whole = unfenced(text)
    try:
        if calls := xml_calls.calls_in_xml(whole, tools):
            return ReplyReading(calls=calls, origin="xml")
        if calls := markers.calls_between_markers(whole, tools):
            return ReplyReading(calls=calls, origin="text")
        if calls := json_calls.calls_in_json(whole, tools):
            return ReplyReading(calls=calls, origin="json")
    except Unreadable as fault:
        return ReplyReading(unreadable=str(fault))
    except RecursionError:
        return ReplyReading(unreadable="it is nested too deeply.")
    return ReplyReading(unreadable=_NOT_ALONE if any(sign in text for sign in SIGNS) else "")


def read_reply_in_xml(text: str, tools: Collection[str]) -> ReplyReading:
    """Parse a reply in XML mode, whose prompt teaches the form: text may precede the one block of calls."""
    words, block = split_reply(text)
    if not words or not block:
        reading = read_reply(text, tools)
        is_elsewhere = reading.unreadable == _NOT_ALONE
        return ReplyReading(unreadable=_NOT_THE_END) if is_elsewhere else reading
    try:
        return ReplyReading(calls=xml_calls.calls_in_xml(block.strip(), tools, blocks=1), words=words, origin="xml")
    except Unreadable as fault:
        return ReplyReading(unreadable=str(fault))
