"""Terminal rendering of a program's output: no escape codes, and progress bars only in their last state.

Escape codes are those of ECMA-48: CSI (colours, the cursor) and strings such as OSC (window titles, links).
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
_INCOMPLETE_CODE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$")
_MAX_UNFINISHED = 2_000  # characters of an unfinished line; a longer one is not redrawn


def render_terminal(output: str) -> str:
    """Apply carriage returns, backspaces and "erase line" within each line. Other cursor movements are ignored."""
    lines = output.replace("\r\n", "\n").split("\n")
    return "\n".join(_render_line(line) if _CONTROLS.search(line) else line for line in lines)


def _render_line(line: str) -> str:
    cells: list[str] = []
    cursor = blank = 0  # cells before `blank` are erased already, which bounds the work of repeated erase codes
    for part in _PARTS.finditer(line):
        if text := part["text"]:
            cells[cursor : cursor + len(text)] = text
            blank = min(blank, cursor)
            cursor += len(text)
        elif part["back"]:
            cursor = 0 if part["back"] == "\r" else max(0, cursor - 1)
        elif part["erase"]:
            _erase(cells, blank, cursor, part["how"])
            blank = blank if part["how"] in ("", "0") else max(blank, cursor)
    return "".join(cells).rstrip(" ")


def _erase(cells: list[str], blank: int, cursor: int, mode: str) -> None:
    """Erase from the cursor on, with "1" before the cursor, with "2" the entire line. The cursor stays."""
    if mode in ("1", "2") and blank < cursor:
        cells[blank:cursor] = " " * (cursor - blank)
    if mode != "1":
        del cells[cursor:]


class TerminalStream:
    """Terminal rendering of output that is still arriving.

    Emitted text cannot be changed. A redrawn line, such as a progress bar, is therefore emitted as a new line, at most
    every `every_s` seconds and in its final state.
    """

    def __init__(self, every_s: float = 0.5, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock = every_s, clock
        self._line = self._emitted = ""  # of the current line: its output, and the text last emitted for it
        self._emitted_at = -math.inf

    def feed(self, output: str) -> str:
        """Return the text to emit for new output."""
        *finished_lines, self._line = (self._line + output).replace("\r\n", "\n").split("\n")
        text = ""
        for line in finished_lines:
            text += self._new_text(line, has_ended=True) + "\n"
            self._emitted = ""
        unfinished = _INCOMPLETE_CODE.search(self._line)
        if unfinished is None:
            text += self._new_text(self._line)
        if len(self._line) > _MAX_UNFINISHED:
            self._drop_redrawn(unfinished[0] if unfinished else "")
        return text

    def _new_text(self, line: str, *, has_ended: bool = False) -> str:
        rendered, emitted = render_terminal(line), self._emitted
        if emitted.startswith(rendered):  # erased, or about to be redrawn
            return ""
        if rendered.startswith(emitted):
            self._emitted = rendered
            return rendered[len(emitted) :]
        if not has_ended and self._clock() - self._emitted_at < self._every_s:
            return ""
        self._emitted, self._emitted_at = rendered, self._clock()
        return f"\n{rendered}"

    def _drop_redrawn(self, unfinished: str) -> None:
        """Drop output before the latest redraw. Of a long line, keep only an incomplete escape code."""
        self._line = self._line[self._line.rfind("\r") :] if "\r" in self._line else ""
        if not 0 < len(self._line) <= _MAX_UNFINISHED:
            self._line, self._emitted = unfinished[:_MAX_UNFINISHED], ""
