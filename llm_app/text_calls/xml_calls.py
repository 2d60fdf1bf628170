"""A parser of calls in XML-like tags, which parses while they arrive."""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from llm_app.text_calls.fence import UnreadableCall, no_such_tool
from llm_app.text_calls.xml_value import XMLValue
from llm_app.types import ToolCall

_SPACE = re.compile(r"\s*")
_LONGEST_TAG = 200  # characters


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A form of XML calls.

    `sign` begins a call. `call_begin` and `parameter_begin` have a group `name`. `nested` opens an inner parameter.

    `trims`: line breaks after the opening and before the closing tag of a parameter are not part of its value.
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


def calls_in_xml(text: str, tools: Collection[str], *, blocks: int | None = None) -> tuple[ToolCall, ...]:
    """Return the calls in a text, from at most so many `blocks`; none if the text does not begin with a call.

    Raises: UnreadableCall for an incomplete call.
    """
    for dialect in DIALECTS:
        if dialect.begins(text):
            stream = XMLCallStream(dialect, blocks=blocks)
            stream.feed(text)
            return tuple(_call(name, parameters, tools) for name, parameters in stream.end())
    return ()


def half_call_in_xml(text: str, tools: Collection[str]) -> ToolCall | None:
    """Return the call in whose middle a text ends. Its arguments are JSON without an end."""
    for dialect in DIALECTS:
        if dialect.begins(text):
            stream = XMLCallStream(dialect)
            stream.feed(text)
            name, arguments = stream.half_call()
            return ToolCall(id="", name=name, arguments=arguments) if name in tools else None
    return None


def _call(name: str, parameters: dict[str, str], tools: Collection[str]) -> ToolCall:
    """Return a call. All values are strings; validation converts them to the types of the tool's schema."""
    if name not in tools:
        raise no_such_tool(name, tools)
    return ToolCall(id="", name=name, arguments=json.dumps(parameters, ensure_ascii=False))


class XMLCallStream:
    """A parser that reads calls in linear time, from at most so many `blocks`.

    `streamed` names the tool and the parameter whose value is streamed.
    """

    def __init__(
        self, dialect: Dialect = OURS, streamed: tuple[str, str] = ("", ""), *, blocks: int | None = None
    ) -> None:
        self._dialect, self._streamed = dialect, streamed
        self._blocks, self._max_blocks = 0, blocks
        self._text, self._position = "", 0  # unread text
        self._state: Callable[[], bool] = self._outside
        self._calls: list[tuple[str, dict[str, str]]] = []
        self._name, self._value = "", self._new_value()
        self._visible: list[str] = []
        self._fault = ""

    def feed(self, fragment: str) -> str:
        """Parse a fragment, and return the new readable part of the streamed parameter."""
        self._visible.clear()
        self._text, self._position = self._text[self._position :] + fragment, 0
        try:
            while self._state():
                pass
        except UnreadableCall as fault:
            self._fault, self._state = str(fault), self._broken
        return "".join(self._visible)

    def end(self) -> list[tuple[str, dict[str, str]]]:
        """Return the calls as names and parameters.

        Raises: UnreadableCall if there is no call, or if the last one is incomplete.
        """
        if self._fault:
            raise UnreadableCall(self._fault)
        if self._state != self._outside or self._text[self._position :].strip() or not self._calls:
            raise UnreadableCall("it is not complete.")
        return self._calls

    def half_call(self) -> tuple[str, str]:
        """Return the name of the only call if the text ended inside of it, and its arguments as JSON without an end."""
        if self._state not in (self._in_call, self._in_value) or len(self._calls) != 1:
            return "", ""
        name, parameters = self._calls[0]
        if self._state == self._in_value:
            parameters = {**parameters, self._name: self._value.value()}
        arguments = json.dumps(parameters, ensure_ascii=False)
        return name, arguments[: -2 if self._state == self._in_value else -1]

    # --- states: each reads on, and returns False if it needs more text --------------------------------------------

    def _broken(self) -> bool:
        self._text, self._position = "", 0
        return False

    def _outside(self) -> bool:
        if tag := self._tag():
            if tag != self._dialect.block[0]:
                raise UnreadableCall("there is another tag after it.")
            self._blocks += 1
            if self._max_blocks is not None and self._blocks > self._max_blocks:
                raise UnreadableCall("there is another block after it.")
            self._state = self._in_block
        return bool(tag)

    def _in_block(self) -> bool:
        if tag := self._tag():
            if tag == self._dialect.block[1]:
                self._state = self._outside
            else:
                self._calls.append((self._name_in(tag, self._dialect.call_begin), {}))
                self._state = self._in_call
        return bool(tag)

    def _in_call(self) -> bool:
        if tag := self._tag():
            if tag == self._dialect.call_end:
                self._state = self._in_block
            else:
                self._name, self._value = self._name_in(tag, self._dialect.parameter_begin), self._new_value()
                self._state = self._in_value
        return bool(tag)

    def _in_value(self) -> bool:
        tool, parameters = self._calls[-1]
        self._position, fragment = self._value.read_on(self._text, self._position)
        if (tool, self._name) == self._streamed and len(self._calls) == 1:
            self._visible.append(fragment)
        if self._value.is_complete:
            if self._name in parameters:
                raise UnreadableCall("a parameter occurs twice.")
            value = self._value.value()
            if self._dialect.trims:
                value = value.removeprefix("\n").removesuffix("\n")
            parameters[self._name] = value
            self._state = self._in_call
        return self._value.is_complete

    # --- steps -------------------------------------------------------------------------------------------------------

    def _tag(self) -> str:
        """Return the next tag; empty if it has not arrived.

        Raises: UnreadableCall for anything else.
        """
        space = _SPACE.match(self._text, self._position)
        self._position = space.end() if space else self._position
        beginning = self._text[self._position : self._position + _LONGEST_TAG]
        end = beginning.find(">") + 1
        if beginning and (beginning[0] != "<" or (not end and len(beginning) == _LONGEST_TAG)):
            raise UnreadableCall("there are words between or after its tags.")
        self._position += end
        return beginning[:end]

    def _name_in(self, tag: str, pattern: str) -> str:
        match = re.fullmatch(pattern, tag)
        if not match:
            raise UnreadableCall("one of its tags is not of the form.")
        return match["name"]

    def _new_value(self) -> XMLValue:
        return XMLValue(self._dialect.parameter_end, self._dialect.nested)
