"""The XML mode's call at the end of a reply, told apart from the words before it while the reply arrives."""

import re

BLOCK = "<function_calls>"
_MOST_INDENT = 3  # spaces; a line with more of them is code (CommonMark 0.31, 4.4)
_BEGIN = re.compile(rf" {{0,{_MOST_INDENT}}}{BLOCK}")
# A fence may be in a quote or in an item of a list. With a backtick after the first ones it is code in a line (4.5).
_FENCE = re.compile(r"(?P<before>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(?P<marks>`{3,}(?=[^`]*$)|~{3,})")
_CODE = re.compile(r"`[^`]*`")
_OTHER_BLOCKS = (BLOCK, "<invoke ")


class LastBlock:
    """Finds where the one block of calls begins: at the beginning of a line, in no code fence and in no quote.

    Where the words before it have another block in them, outside of code and quotes, it finds none: nobody knows which
    one is meant.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._held = ""  # the beginning of a line that may become that of the block
        self._line: list[str] = []  # what has come of the line at hand, once it is known to be words
        self._closing: re.Pattern[str] | None = None  # of the fence that is open
        self._is_quote = False
        self._is_ambiguous = False

    def feed(self, piece: str) -> tuple[str, str]:
        """Takes the next piece; returns what it adds to the words, and what it adds to the block."""
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
        """Reads to the end of the line or of the text; returns that place."""
        end = text.find("\n", at) + 1
        self._line.append(text[at : end or len(text)])
        if end:
            self._end_line("".join(self._line))
            self._line = []
        return end or len(text)

    def _end_line(self, line: str) -> None:
        """Where the next line is: in a fence, in a quote, or after another block."""
        if self._closing:
            self._closing = None if self._closing.fullmatch(line) else self._closing
            return
        if fence := _FENCE.match(line):
            indent, marks = len(fence["before"]) + _MOST_INDENT, fence["marks"]
            self._closing = re.compile(rf"[ \t>]{{0,{indent}}}{marks[0]}{{{len(marks)},}}\s*")
        # A line of words right after one of a quote goes on with it (5.1, laziness).
        self._is_quote = bool(line.strip()) and (self._is_quote or line.lstrip().startswith(">"))
        if not self._is_quote and any(mention in _CODE.sub("", line) for mention in _OTHER_BLOCKS):
            self._is_ambiguous = True


def _may_begin(text: str, at: int) -> bool:
    """Whether the text ends in what may become the beginning of a block."""
    rest = text[at : at + _MOST_INDENT + len(BLOCK)]
    begun = rest.lstrip(" ")
    return len(rest) == len(text) - at and len(rest) - len(begun) <= _MOST_INDENT and BLOCK.startswith(begun)


def split_reply(text: str) -> tuple[str, str]:
    """The words of a whole reply, and its block, which is empty if there is none."""
    words, block = LastBlock().feed(text)
    return words.rstrip(), block
