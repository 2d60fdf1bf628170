"""The value of one argument, decoded while the JSON of a call arrives."""

import re
from collections.abc import Sequence
from typing import Any

import orjson

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX = frozenset("0123456789abcdefABCDEF")
_PLAIN = re.compile(r'[^"\\]+')
_NO_STRUCTURE = re.compile(r'[^"{}\[\]:,]+')


def _object_in(fragment: str) -> dict[str, Any] | None:
    """Return the object if the fragment is a complete one: many servers send calls in one piece."""
    if fragment[:1] != "{" or fragment[-1:] != "}":
        return None
    try:
        value = orjson.loads(fragment)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _text_at(value: Any, path: Sequence[str | None]) -> str:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


class ArgumentStream:
    """A decoder that yields the growing string at `path` (keys of nested objects) and skips everything else.

    It works in linear time and raises no errors for malformed input: the complete call is parsed and checked later.
    Source of the escapes: RFC 8259, section 7.
    """

    def __init__(self, *path: str) -> None:
        self._path: list[str | None] = list(path)
        self._keys: list[str | None] = []  # the current key of each open object; None for a list
        self._between, self._within = self._structure, self._string  # outside and inside of a string
        self._state = self._between
        self._is_value = False
        self._name: list[str] = []
        self._digits = ""
        self._high = ""
        self._out: list[str] = []
        self._target: list[str] | None = None  # receives the characters of the current string

    def feed(self, fragment: str) -> str:
        """Decode a fragment of JSON, and return the new readable part of the value."""
        if self._state is self._within and self._target is self._out and _PLAIN.fullmatch(fragment):  # the usual case
            self._high = ""
            return fragment
        if not self._keys and self._state is self._between and (whole := _object_in(fragment)) is not None:
            return _text_at(whole, self._path)
        self._out.clear()
        at = 0
        while at < len(fragment):
            at = self._state(fragment, at)
        return "".join(self._out)

    def _structure(self, text: str, at: int) -> int:
        char = text[at]
        if char == '"':
            self._begin_string()
        elif char in "{[":
            self._keys.append("" if char == "{" else None)
            self._is_value = False
        elif char in "}]":
            del self._keys[-1:]
        elif char in ":,":
            self._is_value = char == ":"
        elif passed := _NO_STRUCTURE.match(text, at):
            return passed.end()
        return at + 1

    def _begin_string(self) -> None:
        self._state = self._within
        if self._is_value:
            self._target = self._out if self._keys == self._path else None
        else:
            self._name.clear()
            self._target = self._name

    def _string(self, text: str, at: int) -> int:
        if plain := _PLAIN.match(text, at):
            self._take(plain[0])
            return plain.end()
        if text[at] == "\\":
            self._state = self._escape
        else:
            self._end_string()
        return at + 1

    def _end_string(self) -> None:
        self._state, self._high = self._between, ""
        if self._target is self._name and self._keys and self._keys[-1] is not None:
            self._keys[-1] = "".join(self._name)

    def _escape(self, text: str, at: int) -> int:
        if text[at] == "u":
            self._state, self._digits = self._unicode, ""
        else:
            self._state = self._within
            self._take(_ESCAPES.get(text[at], text[at]))
        return at + 1

    def _unicode(self, text: str, at: int) -> int:
        digits = text[at : at + 4 - len(self._digits)]
        self._digits += digits
        if len(self._digits) == 4:
            self._state = self._within
            self._code_unit(int(self._digits, 16) if _HEX.issuperset(self._digits) else 0xFFFD)
        return at + len(digits)

    def _code_unit(self, unit: int) -> None:
        """Add a UTF-16 code unit. The first half of a surrogate pair waits for the second."""
        high = self._high
        if 0xD800 <= unit < 0xDC00:
            self._high = chr(unit)
            return
        pair = (high + chr(unit)) if 0xDC00 <= unit < 0xE000 else chr(unit)
        self._take(pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

    def _take(self, text: str) -> None:
        self._high = ""
        if self._target is not None:
            self._target.append(text)
