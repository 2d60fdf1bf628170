"""What the text of a whole reply is: a call, or several, or words."""

from collections.abc import Collection
from dataclasses import dataclass

from llm_app.text_calls import json_calls, markers, xml_calls
from llm_app.text_calls.fence import Unreadable, unfenced
from llm_app.text_calls.last_block import BLOCK, split_reply
from llm_app.types import Origin, ToolCall

# With what a call begins, in any form but JSON.
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
    """`words` are those before the calls. `unreadable` says what was wrong with what looks like a call.

    Neither that nor calls: the reply is words.
    """

    calls: tuple[ToolCall, ...] = ()
    words: str = ""
    origin: Origin = "native"
    unreadable: str = ""


def read_reply(text: str, tools: Collection[str]) -> ReplyReading:
    """`text` is a reply without its thinking, `tools` the names of the visible tools.

    A call counts only if the whole text, less one code fence around it, is the complete call, or calls, of visible
    tools. A call that is quoted in prose or in code is text.
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
    """The same in the XML mode, whose prompt teaches the form: there may be words before the one block."""
    words, block = split_reply(text)
    if not words or not block:
        reading = read_reply(text, tools)
        is_elsewhere = reading.unreadable == _NOT_ALONE
        return ReplyReading(unreadable=_NOT_THE_END) if is_elsewhere else reading
    try:
        return ReplyReading(calls=xml_calls.calls_in_xml(block.strip(), tools, blocks=1), words=words, origin="xml")
    except Unreadable as fault:
        return ReplyReading(unreadable=str(fault))
