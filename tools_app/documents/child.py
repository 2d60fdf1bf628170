"""The program that reads a document in a child process: formats are intricate, and authors can be hostile."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tools_app.documents.document import DocumentParseError, ParsedDocument, tidy
from tools_app.documents.formats import open_document

_HEADING_BYTES = 10  # bytes of "--- " and " ---" around a title, and of two line ends


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the requested parts of the document, or an error as a sentence.

    {"name", "part", "line", "room"} → {"kind", "unit", "title", "count", "parts"} or {"error"}
    """
    try:
        document = open_document(body, request["name"])
        return {
            "kind": document.kind,
            "unit": document.unit,
            "title": document.title,
            "count": len(document.parts),
            "parts": _parts(document, _first(request["part"], len(document.parts)), request["line"], request["room"]),
        }
    except DocumentParseError as error:
        return {"error": str(error)}


def _first(number: int, count: int) -> int:
    """Return the number of a part, counted from the end if it is negative."""
    return number if number > 0 else max(1, count + number + 1)


def _parts(document: ParsedDocument, first: int, line: int, room: int) -> list[dict[str, Any]]:
    """Return the parts from number `first` on, the first of them from `line` on: whole lines, `room` bytes in total."""
    parts: list[dict[str, Any]] = []
    for number, part in enumerate(document.parts[first - 1 :], first):
        start_line = line if number == first else 1
        lines: list[str] = []
        is_whole = True
        room -= len(part.title.encode()) + _HEADING_BYTES
        if room < 0 and parts:
            break
        for line_number, text in enumerate(tidy(unless_damaged(part.lines)), 1):
            if line_number < start_line:
                continue
            room -= len(text.encode()) + 1
            if room < 0 and (lines or parts):
                is_whole = False
                break
            lines.append(text)
        if not lines and not is_whole:
            break
        parts.append({"number": number, "title": part.title, "line": start_line, "lines": lines, "whole": is_whole})
        if room < 0:
            break
    return parts


def unless_damaged(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines until the part turns out to be damaged: libraries raise any error then, and other parts can be
    intact.
    """
    try:
        yield from lines
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  see above; the text reports it
        yield f"[What follows here cannot be read: {type(error).__name__}]"
