"""Reads a document, in a child process (`reader`): its formats are intricate, and its author may be hostile."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tools_app.documents.document import Document, Unreadable, tidy
from tools_app.documents.formats import open_document

_MARK = 10  # bytes of "--- " and " ---" around a title, and two ends of lines


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """{"name", "part", "line", "room"} → {"kind", "unit", "title", "count", "parts"}, or {"error"} with a sentence."""
    try:
        document = open_document(body, request["name"])
        return {
            "kind": document.kind,
            "unit": document.unit,
            "title": document.title,
            "count": len(document.parts),
            "parts": _parts(document, request["part"], request["line"], request["room"]),
        }
    except Unreadable as error:
        return {"error": str(error)}


def _parts(document: Document, first: int, line: int, room: int) -> list[dict[str, Any]]:
    """The parts from the `first` on, of that one the lines from `line` on: whole lines of `room` bytes together."""
    parts: list[dict[str, Any]] = []
    for number, part in enumerate(document.parts[first - 1 :], first):
        begin = line if number == first else 1
        kept: list[str] = []
        whole = True
        room -= len(part.title.encode()) + _MARK
        if room < 0 and parts:
            break
        for position, words in enumerate(tidy(unless_damaged(part.lines)), 1):
            if position < begin:
                continue
            room -= len(words.encode()) + 1
            if room < 0 and (kept or parts):
                whole = False
                break
            kept.append(words)
        if not kept and not whole:
            break
        parts.append({"number": number, "title": part.title, "line": begin, "lines": kept, "whole": whole})
        if room < 0:
            break
    return parts


def unless_damaged(lines: Iterable[str]) -> Iterator[str]:
    """One damaged part makes the libraries raise anything; others may be whole."""
    try:
        yield from lines
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  see above; it is said where the lines are missing
        yield f"[What follows here cannot be read: {type(error).__name__}]"
