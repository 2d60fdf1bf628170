"""What a terminal would show of a program's output: without escape codes, a progress bar only as it was last drawn.

The codes are those of ECMA-48: CSI (colours, the cursor), and strings such as OSC (window titles, links).
"""

import math
import re
import time
from collections.abc import Callable

_STRING = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC up to BEL or ST
_CSI = r"\x1b\[[0-?]*[ -/]*[@-~]?"
_PARTS = re.compile(
    rf"(?P<erase>\x1b\[(?P<how>[0-2]?)K)|(?P<back>[\r\b])|(?P<text>[^\x00-\x08\x0b-\x1f\x7f]+)"
    rf"|{_STRING}|{_CSI}|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$")
_LONGEST = 2_000  # characters of a line that goes on; what is longer is not drawn again


def shown_by_terminal(output: str) -> str:
    """Each line as carriage returns, backspaces and "erase the line" leave it; other movements are ignored."""
    lines = output.replace("\r\n", "\n").split("\n")
    return "\n".join(_drawn(line) if _CONTROLS.search(line) else line for line in lines)


def _drawn(line: str) -> str:
    cells: list[str] = []
    at = blank = 0  # the cells before `blank` are erased: codes may ask for that without end
    for part in _PARTS.finditer(line):
        if text := part["text"]:
            cells[at : at + len(text)] = text
            blank = min(blank, at)
            at += len(text)
        elif part["back"]:
            at = 0 if part["back"] == "\r" else max(0, at - 1)
        elif part["erase"]:
            _erase(cells, blank, at, part["how"])
            blank = blank if part["how"] in ("", "0") else max(blank, at)
    return "".join(cells).rstrip(" ")


def _erase(cells: list[str], blank: int, at: int, how: str) -> None:
    """From the cursor on; with "1" what is before it; with "2" all. The cursor stays where it is."""
    if how in ("1", "2") and blank < at:
        cells[blank:at] = " " * (at - blank)
    if how != "1":
        del cells[at:]


class RunningOutput:
    """The same for output that still comes. What was said stays: a line that is drawn again (a progress bar) is said
    again, on a line of its own, at most every `every_s` seconds and as it is at its end.
    """

    def __init__(self, every_s: float = 0.5, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock = every_s, clock
        self._line = self._said = ""  # of the line that goes on: its output, and what was last said of it
        self._drawn_at = -math.inf

    def feed(self, output: str) -> str:
        """What is to be said beside all that was said before."""
        *ended, self._line = (self._line + output).replace("\r\n", "\n").split("\n")
        said = ""
        for line in ended:
            said += self._more(line, has_ended=True) + "\n"
            self._said = ""
        unfinished = _UNFINISHED.search(self._line)
        if unfinished is None:
            said += self._more(self._line)
        if len(self._line) > _LONGEST:
            self._forget(unfinished[0] if unfinished else "")
        return said

    def _more(self, line: str, *, has_ended: bool = False) -> str:
        drawn, before = shown_by_terminal(line), self._said
        if before.startswith(drawn):  # erased, or about to be drawn again
            return ""
        if drawn.startswith(before):
            self._said = drawn
            return drawn[len(before) :]
        if not has_ended and self._clock() - self._drawn_at < self._every_s:
            return ""
        self._said, self._drawn_at = drawn, self._clock()
        return f"\n{drawn}"

    def _forget(self, unfinished: str) -> None:
        """What was before the newest drawing, and of a long line all but an escape code whose end is to come."""
        self._line = self._line[self._line.rfind("\r") :] if "\r" in self._line else ""
        if not 0 < len(self._line) <= _LONGEST:
            self._line, self._said = unfinished[:_LONGEST], ""
