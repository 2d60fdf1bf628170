"""The block of calls at the end of a reply in XML mode, separated from the text while the reply arrives."""

import re

BLOCK = "<function_calls>"
_MAX_INDENT = 3  # spaces; a line with more of them is code (CommonMark 0.31, 4.4)
_BEGIN = re.compile(rf" {{0,{_MAX_INDENT}}}{BLOCK}")
# A fence may be in a quote or in a list item. Further backticks in its line make it inline code (4.5).
_FENCE = re.compile(r"(?P<before>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(?P<marks>`{3,}(?=[^`]*$)|~{3,})")
_CODE = re.compile(r"`[^`]*`")
_OTHER_BLOCKS = (BLOCK, "<invoke ")


class TrailingBlock:
    """A splitter of text and block. A block begins at the beginning of a line, outside of code fences and quotes.

    If the text already contains another block outside of code and quotes, no block is found, because the reply is
    ambiguous.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._held = ""  # the beginning of a line that may begin the block
        self._line: list[str] = []  # the current line so far, once it is known to be text
        self._closing: re.Pattern[str] | None = None  # matches the line that closes the open fence
        self._is_quote = False
        self._is_ambiguous = False

    def feed(self, fragment: str) -> tuple[str, str]:
        """Split a fragment, and return the new parts of the text and of the block."""
        if self.has_begun:
            return "", fragment
        text, position = self._held + fragment, 0
        self._held = ""
        while position < len(text):
            if not self._line and self._can_begin_block:
                if _BEGIN.match(text, position):
                    self.has_begun = True
                    return text[:position], text[position:]
                if _is_possible_beginning(text, position):
                    self._held = text[position:]
                    return text[:position], ""
            position = self._read_line(text, position)
        return text, ""

    @property
    def _can_begin_block(self) -> bool:
        return not (self._closing or self._is_quote or self._is_ambiguous)

    def _read_line(self, text: str, position: int) -> int:
        """Read to the end of the line or of the text, and return that position."""
        end = text.find("\n", position) + 1
        self._line.append(text[position : end or len(text)])
        if end:
            self._end_line("".join(self._line))
            self._line = []
        return end or len(text)

    def _end_line(self, line: str) -> None:
        """Update the state for the next line: in a fence, in a quote, or after another block."""
        if self._closing:
            self._closing = None if self._closing.fullmatch(line) else self._closing
            return
        if fence := _FENCE.match(line):
            indent, marks = len(fence["before"]) + _MAX_INDENT, fence["marks"]
            self._closing = re.compile(rf"[ \t>]{{0,{indent}}}{marks[0]}{{{len(marks)},}}\s*")
        # A text line right after a quote continues it (5.1, lazy continuation).
        self._is_quote = bool(line.strip()) and (self._is_quote or line.lstrip().startswith(">"))
        if not self._is_quote and any(mention in _CODE.sub("", line) for mention in _OTHER_BLOCKS):
            self._is_ambiguous = True


def _is_possible_beginning(text: str, position: int) -> bool:
    """Return whether the text ends in a possible beginning of a block."""
    if len(text) - position > _MAX_INDENT + len(BLOCK):
        return False
    rest = text[position:]
    beginning = rest.lstrip(" ")
    return len(rest) - len(beginning) <= _MAX_INDENT and BLOCK.startswith(beginning)


def split_block(text: str) -> tuple[str, str]:
    """Return the text of a complete reply, and its block; the block is empty if there is none."""
    reply_text, block = TrailingBlock().feed(text)
    return reply_text.rstrip(), block
