"""What the words of a whole reply are: a call, or several, or words."""

from collections.abc import Collection
from dataclasses import dataclass

from llm_app.text_calls import json_calls, markers, xml_calls
from llm_app.text_calls.fence import unfenced
from llm_app.text_calls.unreadable import Unreadable
from llm_app.types import Origin, ToolCall

_SIGNS = ("<function_calls>", "<invoke ", *(family.sign for family in markers.FAMILIES.values()))
_NOT_ALONE = "there were words beside it; a call that is written as text must be the whole reply."


@dataclass(frozen=True, kw_only=True)
class ReplyReading:
    """`unreadable` says what was wrong with what looks like a call. Neither that nor calls: the reply is words."""

    calls: tuple[ToolCall, ...] = ()
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
    return ReplyReading(unreadable=_NOT_ALONE if any(sign in text for sign in _SIGNS) else "")
