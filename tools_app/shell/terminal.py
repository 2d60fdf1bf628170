"""What a terminal would show of a program's output: without escape codes, a progress bar only as it was last drawn.

The codes are those of ECMA-48: CSI (colours, the cursor), and strings such as OSC (window titles, links).
"""

import re

_STRING = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC up to BEL or ST
_CSI = r"\x1b\[[0-?]*[ -/]*[@-~]?"
_PARTS = re.compile(
    rf"(?P<erase>\x1b\[(?P<how>[0-2]?)K)|(?P<back>[\r\b])|(?P<text>[^\x00-\x08\x0b-\x1f\x7f]+)"
    rf"|{_STRING}|{_CSI}|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def shown_by_terminal(output: str) -> str:
    """Each line as carriage returns, backspaces and "erase the line" leave it; other movements are ignored."""
    lines = output.replace("\r\n", "\n").split("\n")
    return "\n".join(_drawn(line) if _CONTROLS.search(line) else line for line in lines)


def _drawn(line: str) -> str:
    cells: list[str] = []
    at = 0
    for part in _PARTS.finditer(line):
        if text := part["text"]:
            cells[at : at + len(text)] = text
            at += len(text)
        elif part["back"]:
            at = 0 if part["back"] == "\r" else max(0, at - 1)
        elif part["erase"]:
            _erase(cells, at, part["how"])
    return "".join(cells).rstrip(" ")


def _erase(cells: list[str], at: int, how: str) -> None:
    """From the cursor on; with "1" what is before it; with "2" all. The cursor stays where it is."""
    if how in ("1", "2"):
        cells[:at] = " " * min(at, len(cells))
    if how != "1":
        del cells[at:]
