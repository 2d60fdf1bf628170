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
        self._outside, self._inside = self._read_structure, self._read_string  # outside and inside of a string
        self._state = self._outside
        self._is_value = False
        self._name: list[str] = []
        self._digits = ""
        self._high = ""
        self._out: list[str] = []
        self._target: list[str] | None = None  # receives the characters of the current string

    def feed(self, fragment: str) -> str:
        """Decode a fragment of JSON, and return the new readable part of the value."""
        if self._state is self._inside and self._target is self._out and _PLAIN.fullmatch(fragment):  # the usual case
            self._high = ""
            return fragment
        if not self._keys and self._state is self._outside and (complete := _object_in(fragment)) is not None:
            return _text_at(complete, self._path)
        self._out.clear()
        position = 0
        while position < len(fragment):
            position = self._state(fragment, position)
        return "".join(self._out)

    def _read_structure(self, text: str, position: int) -> int:
        char = text[position]
        if char == '"':
            self._begin_string()
        elif char in "{[":
            self._keys.append("" if char == "{" else None)
            self._is_value = False
        elif char in "}]":
            del self._keys[-1:]
        elif char in ":,":
            self._is_value = char == ":"
        elif skipped := _NO_STRUCTURE.match(text, position):
            return skipped.end()
        return position + 1

    def _begin_string(self) -> None:
        self._state = self._inside
        if self._is_value:
            self._target = self._out if self._keys == self._path else None
        else:
            self._name.clear()
            self._target = self._name

    def _read_string(self, text: str, position: int) -> int:
        if plain := _PLAIN.match(text, position):
            self._add(plain[0])
            return plain.end()
        if text[position] == "\\":
            self._state = self._read_escape
        else:
            self._end_string()
        return position + 1

    def _end_string(self) -> None:
        self._state, self._high = self._outside, ""
        if self._target is self._name and self._keys and self._keys[-1] is not None:
            self._keys[-1] = "".join(self._name)

    def _read_escape(self, text: str, position: int) -> int:
        if text[position] == "u":
            self._state, self._digits = self._read_unicode, ""
        else:
            self._state = self._inside
            self._add(_ESCAPES.get(text[position], text[position]))
        return position + 1

    def _read_unicode(self, text: str, position: int) -> int:
        digits = text[position : position + 4 - len(self._digits)]
        self._digits += digits
        if len(self._digits) == 4:
            self._state = self._inside
            self._add_code_unit(int(self._digits, 16) if _HEX.issuperset(self._digits) else 0xFFFD)
        return position + len(digits)

    def _add_code_unit(self, unit: int) -> None:
        """Add a UTF-16 code unit. The first half of a surrogate pair waits for the second."""
        high = self._high
        if 0xD800 <= unit < 0xDC00:
            self._high = chr(unit)
            return
        pair = (high + chr(unit)) if 0xDC00 <= unit < 0xE000 else chr(unit)
        self._add(pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))

    def _add(self, text: str) -> None:
        self._high = ""
        if self._target is not None:
            self._target.append(text)
