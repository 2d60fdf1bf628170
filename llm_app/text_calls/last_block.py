"""The block of calls at the end of a reply in XML mode, separated from the text while the reply arrives."""

import re

BLOCK = "<function_calls>"
_MOST_INDENT = 3  # spaces; a line with more of them is code (CommonMark 0.31, 4.4)
_BEGIN = re.compile(rf" {{0,{_MOST_INDENT}}}{BLOCK}")
# A fence may be in a quote or in a list item. Further backticks in its line make it inline code (4.5).
_FENCE = re.compile(r"(?P<before>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(?P<marks>`{3,}(?=[^`]*$)|~{3,})")
_CODE = re.compile(r"`[^`]*`")
_OTHER_BLOCKS = (BLOCK, "<invoke ")


class LastBlock:
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

    def feed(self, piece: str) -> tuple[str, str]:
        """Split a fragment, and return the new parts of the text and of the block."""
        if self.has_begun:
            return "", piece
        text, at = self._held + piece, 0
        self._held = ""
        while at < len(text):
            if not self._line and self._may_call:
                if _BEGIN.match(text, at):
                    self.has_begun = True
                    return text[:at], text[at:]
                if _may_begin(text, at):
                    self._held = text[at:]
                    return text[:at], ""
            at = self._read_line(text, at)
        return text, ""

    @property
    def _may_call(self) -> bool:
        return not (self._closing or self._is_quote or self._is_ambiguous)

    def _read_line(self, text: str, at: int) -> int:
        """Read to the end of the line or of the text, and return that position."""
        end = text.find("\n", at) + 1
        self._line.append(text[at : end or len(text)])
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
            indent, marks = len(fence["before"]) + _MOST_INDENT, fence["marks"]
            self._closing = re.compile(rf"[ \t>]{{0,{indent}}}{marks[0]}{{{len(marks)},}}\s*")
        # A text line right after a quote continues it (5.1, lazy continuation).
        self._is_quote = bool(line.strip()) and (self._is_quote or line.lstrip().startswith(">"))
        if not self._is_quote and any(mention in _CODE.sub("", line) for mention in _OTHER_BLOCKS):
            self._is_ambiguous = True


def _may_begin(text: str, at: int) -> bool:
    """Return whether the text ends in a possible beginning of a block."""
    rest = text[at : at + _MOST_INDENT + len(BLOCK)]
    begun = rest.lstrip(" ")
    return len(rest) == len(text) - at and len(rest) - len(begun) <= _MOST_INDENT and BLOCK.startswith(begun)


def split_reply(text: str) -> tuple[str, str]:
    """Return the text of a complete reply, and its block; the block is empty if there is none."""
    words, block = LastBlock().feed(text)
    return words.rstrip(), block
