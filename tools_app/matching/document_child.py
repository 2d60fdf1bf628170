"""Searches the text of documents, in a child process (`in_documents`)."""

import re
from collections.abc import Mapping
from typing import Any

from tools_app.documents.child import unless_damaged
from tools_app.documents.document import Unreadable, tidy
from tools_app.documents.formats import open_document
from tools_app.files import as_text
from tools_app.matching.worker import MatchingLines


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """{"pattern", "flags", "context", "first", "room", "documents": [[path, bytes], …]}, the documents one after the
    other in `body` → {"lines", "shown", "total", "unreadable": [[path, why], …]}.
    """
    expression = re.compile(request["pattern"], request["flags"])
    matches = MatchingLines(expression, request["context"], request["first"], request["room"])
    unreadable = []
    for path, size in request["documents"]:
        data, body = body[:size], body[size:]
        try:
            _search(path, data, matches)
        except Unreadable as error:
            unreadable.append([path, str(error)])
    return {"lines": matches.lines, "shown": matches.shown, "total": matches.total, "unreadable": unreadable}


def _search(path: str, data: bytes, matches: MatchingLines) -> None:
    """Each part is a file of its own, named by the offset at which the tool `file` reads it."""
    for number, part in enumerate(open_document(data, path).parts, 1):
        text = "\n".join(tidy(unless_damaged(part.lines)))
        matches.add(f"{as_text(path)} offset={number} ({part.title})", text)
