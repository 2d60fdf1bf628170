"""A search of the text of documents, run in a child process by `in_documents`."""

import re
from collections.abc import Mapping
from typing import Any

from tools_app.documents.child import unless_damaged
from tools_app.documents.document import DocumentParseError, tidy
from tools_app.documents.formats import open_document
from tools_app.files import as_text
from tools_app.matching.worker import MatchingLines


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Search documents whose contents follow one another in `body`.

    The request is {"pattern", "flags", "context", "first", "room", "documents": [[path, bytes], …]}. The answer is
    {"lines", "shown", "total", "unreadable": [[path, reason], …]}.
    """
    expression = re.compile(request["pattern"], request["flags"])
    matches = MatchingLines(expression, request["context"], request["first"], request["room"])
    unreadable = []
    for path, size in request["documents"]:
        data, body = body[:size], body[size:]
        try:
            # Each part counts as a separate file, named by the offset at which the tool `file` reads it.
            for number, part in enumerate(open_document(data, path).parts, 1):
                text = "\n".join(tidy(unless_damaged(part.lines)))
                matches.add(f"{as_text(path)} offset={number} ({part.title})", text)
        except DocumentParseError as error:
            unreadable.append([path, str(error)])
    return {"lines": matches.lines, "shown": matches.shown, "total": matches.total, "unreadable": unreadable}
