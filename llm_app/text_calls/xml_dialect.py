"""The XML-like forms in which models write calls, as data."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """`sign` is how a call begins; `begin` patterns have a group `name`; `nested` opens a parameter inside of another.

    `trims`: a line break after the opening and before the closing tag of a parameter is not part of its value.
    """

    sign: str
    block: tuple[str, str]
    call_begin: str
    call_end: str
    parameter_begin: str
    parameter_end: str = "</parameter>"
    nested: str = "<parameter"
    trims: bool = False

    def begins(self, text: str) -> bool:
        return re.match(self.sign, text) is not None


_INVOKE, _PARAMETER = (rf"""<{tag}\s+name=["'](?P<name>[^"'<>]+)["']\s*>""" for tag in ("invoke", "parameter"))

OURS = Dialect(
    sign="<function_calls>",
    block=("<function_calls>", "</function_calls>"),
    call_begin=_INVOKE,
    call_end="</invoke>",
    parameter_begin=_PARAMETER,
)
QWEN_CODER = Dialect(
    sign=r"<tool_call>\s*<function=",
    block=("<tool_call>", "</tool_call>"),
    call_begin=r"<function=(?P<name>[^<>\s]+)>",
    call_end="</function>",
    parameter_begin=r"<parameter=(?P<name>[^<>\s]+)>",
    trims=True,
)
MINIMAX = Dialect(
    sign="<minimax:tool_call>",
    block=("<minimax:tool_call>", "</minimax:tool_call>"),
    call_begin=_INVOKE,
    call_end="</invoke>",
    parameter_begin=_PARAMETER,
)
DIALECTS = (OURS, QWEN_CODER, MINIMAX)
