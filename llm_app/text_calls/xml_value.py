"""The value of one parameter of a call in XML, taken apart while it arrives."""

import re
from collections.abc import Callable

from llm_app.text_calls.fence import Unreadable

CDATA_BEGIN, CDATA_END = "<![CDATA[", "]]>"
_SPACE = re.compile(r"\s*")
_AFTER_NAME = " \t\r\n>="
_MOST_SPACE = 64  # characters before a CDATA section
_LONGEST_TAG = 20  # characters, of those that count in a value


class XMLValue:
    """`end` is the tag that ends the value, `nested` the beginning of a tag that opens another such value in it.

    The value is taken as it is: entities are not decoded, tags in it are text, and those of parameters must be
    balanced. A value that is one or more CDATA sections and nothing else is their text; in the middle of a value a
    section stays as it is, and hides what is in it.
    """

    def __init__(self, end: str, nested: str) -> None:
        self._end, self._nested = end, nested
        self._tags = re.compile("|".join(map(re.escape, (end, nested, CDATA_BEGIN))))
        self._state: Callable[[], bool] = self._beginning
        self._text, self._at = "", 0
        self._depth = 0
        self._new: list[str] = []
        self._parts: list[str] = []
        self.is_complete = False

    def read_on(self, text: str, at: int) -> tuple[int, str]:
        """Reads `text` from `at`; returns the place from which it must be read again, and what it read of the value.

        Raises Unreadable.
        """
        self._text, self._at = text, at
        self._new = []
        while not self.is_complete and self._state():
            pass
        self._text = ""
        self._parts += self._new
        return self._at, "".join(self._new)

    def value(self) -> str:
        return "".join(self._parts)

    # --- the states: each reads on, and returns False when it needs more --------------------------------------------

    def _beginning(self) -> bool:
        """A value of CDATA sections has only white space before them."""
        start = self._after_space()
        rest = self._text[start : start + len(CDATA_BEGIN)]
        if start - self._at > _MOST_SPACE or not CDATA_BEGIN.startswith(rest):
            self._state = self._plain
        elif rest == CDATA_BEGIN:
            self._at = start + len(CDATA_BEGIN)
            self._state = self._section
        else:
            return False
        return True

    def _plain(self) -> bool:
        tag = self._tags.search(self._text, self._at)
        self._take(tag.start() if tag else self._before_open_tag())
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
            self._take(self._at + len(self._end))
        else:
            self._at += len(self._end)
            self.is_complete = True

    def _section(self) -> bool:
        return self._until_section_ends(self._after_section, 0)

    def _inner_section(self) -> bool:
        return self._until_section_ends(self._plain, len(CDATA_END))

    def _until_section_ends(self, then: Callable[[], bool], kept: int) -> bool:
        """Takes the text of a section, and so many characters of its end."""
        end = self._text.find(CDATA_END, self._at)
        if end < 0:
            self._take(len(self._text) - len(CDATA_END) + 1)
            return False
        self._take(end + kept)
        self._at = end + len(CDATA_END)
        self._state = then
        return True

    def _after_section(self) -> bool:
        self._at = self._after_space()
        if self._text.startswith(self._end, self._at):
            self._close()
        elif self._text.startswith(CDATA_BEGIN, self._at):
            self._at += len(CDATA_BEGIN)
            self._state = self._section
        elif self._may_become(self._at, self._end, CDATA_BEGIN):
            return False
        else:
            raise Unreadable("a parameter has text beside its CDATA section.")
        return True

    # --- steps -------------------------------------------------------------------------------------------------------

    def _after_space(self) -> int:
        space = _SPACE.match(self._text, self._at)
        return space.end() if space else self._at

    def _before_open_tag(self) -> int:
        """Where the text ends, or before that in the middle of a tag."""
        place = self._text.rfind("<", max(self._at, len(self._text) - _LONGEST_TAG))
        is_open = place >= 0 and self._may_become(place, self._end, self._nested, CDATA_BEGIN)
        return place if is_open else len(self._text)

    def _may_become(self, place: int, *tags: str) -> bool:
        """Whether the text ends in the middle of one of the tags."""
        rest = self._text[place : place + _LONGEST_TAG]
        return any(tag.startswith(rest) for tag in tags)

    def _take(self, end: int) -> None:
        """All up to `end` is part of the value."""
        if end > self._at:
            self._new.append(self._text[self._at : end])
            self._at = end
