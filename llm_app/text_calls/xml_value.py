"""The value of one parameter of an XML call, parsed while it arrives."""

import re
from collections.abc import Callable

from llm_app.text_calls.fence import UnreadableCall

CDATA_BEGIN, CDATA_END = "<![CDATA[", "]]>"
_SPACE = re.compile(r"\s*")
_AFTER_NAME = " \t\r\n>="
_MAX_SPACE = 64  # characters before a CDATA section
_LONGEST_TAG = 20  # characters of the tags that matter in a value


class XMLValue:
    """A value that ends at the tag `end`. `nested` is the beginning of a tag that opens an inner value.

    The value is raw text: entities are not decoded, other tags are text, and inner parameter tags must be balanced. A
    value that only consists of CDATA sections is the text of these sections. A section in the middle of a value stays
    unchanged, and tags in it do not count.
    """

    def __init__(self, end: str, nested: str) -> None:
        self._end, self._nested = end, nested
        self._tags = re.compile("|".join(map(re.escape, (end, nested, CDATA_BEGIN))))
        self._state: Callable[[], bool] = self._beginning
        self._text, self._position = "", 0
        self._depth = 0
        self._new: list[str] = []
        self._parts: list[str] = []
        self.is_complete = False

    def read_on(self, text: str, position: int) -> tuple[int, str]:
        """Read `text` from `position`. Return the position to continue from, and the new part of the value.

        Raises: UnreadableCall.
        """
        self._text, self._position = text, position
        self._new = []
        while not self.is_complete and self._state():
            pass
        self._text = ""
        self._parts += self._new
        return self._position, "".join(self._new)

    def value(self) -> str:
        return "".join(self._parts)

    # --- states: each reads on, and returns False if it needs more text --------------------------------------------

    def _beginning(self) -> bool:
        """Decide whether the value consists of CDATA sections, which only white space may precede."""
        start = self._after_space()
        rest = self._text[start : start + len(CDATA_BEGIN)]
        if start - self._position > _MAX_SPACE or not CDATA_BEGIN.startswith(rest):
            self._state = self._plain
        elif rest == CDATA_BEGIN:
            self._position = start + len(CDATA_BEGIN)
            self._state = self._section
        else:
            return False
        return True

    def _plain(self) -> bool:
        tag = self._tags.search(self._text, self._position)
        self._take(tag.start() if tag else self._incomplete_tag_start())
        if not tag or (tag[0] == self._nested and tag.end() == len(self._text)):
            return False
        if tag[0] == self._end:
            self._close()
        elif tag[0] == CDATA_BEGIN:
            self._take(tag.end())
            self._state = self._inner_section
        else:
            self._depth += self._text[tag.end()] in _AFTER_NAME
            self._take(tag.end())
        return True

    def _close(self) -> None:
        if self._depth:
            self._depth -= 1
            self._take(self._position + len(self._end))
        else:
            self._position += len(self._end)
            self.is_complete = True

    def _section(self) -> bool:
        return self._read_section(self._after_section, 0)

    def _inner_section(self) -> bool:
        return self._read_section(self._plain, len(CDATA_END))

    def _read_section(self, next_state: Callable[[], bool], end_length: int) -> bool:
        """Add the text of a section to the value, and so many characters of its end."""
        end = self._text.find(CDATA_END, self._position)
        if end < 0:
            self._take(len(self._text) - len(CDATA_END) + 1)
            return False
        self._take(end + end_length)
        self._position = end + len(CDATA_END)
        self._state = next_state
        return True

    def _after_section(self) -> bool:
        self._position = self._after_space()
        if self._text.startswith(self._end, self._position):
            self._close()
        elif self._text.startswith(CDATA_BEGIN, self._position):
            self._position += len(CDATA_BEGIN)
            self._state = self._section
        elif self._is_incomplete_tag(self._position, self._end, CDATA_BEGIN):
            return False
        else:
            raise UnreadableCall("a parameter has text beside its CDATA section.")
        return True

    # --- steps -------------------------------------------------------------------------------------------------------

    def _after_space(self) -> int:
        space = _SPACE.match(self._text, self._position)
        return space.end() if space else self._position

    def _incomplete_tag_start(self) -> int:
        """Return the position of an incomplete tag at the end of the text, else the length of the text."""
        position = self._text.rfind("<", max(self._position, len(self._text) - _LONGEST_TAG))
        is_open = position >= 0 and self._is_incomplete_tag(position, self._end, self._nested, CDATA_BEGIN)
        return position if is_open else len(self._text)

    def _is_incomplete_tag(self, position: int, *tags: str) -> bool:
        """Return whether the text ends inside one of the tags."""
        rest = self._text[position : position + _LONGEST_TAG]
        return any(tag.startswith(rest) for tag in tags)

    def _take(self, end: int) -> None:
        """Add the text up to `end` to the value."""
        if end > self._position:
            self._new.append(self._text[self._position : end])
            self._position = end
