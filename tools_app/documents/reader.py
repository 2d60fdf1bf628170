"""The one reader of documents: PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, HTML, e-mail, CSV and notebooks.

Each is a sequence of parts (pages, sheets, slides, chapters …), read in a child process with limits.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.documents.formats import is_pdf
from tools_app.errors import ToolError

MOST_BYTES = 50 * 1000**2  # of a document; what a person may upload
ROOM = 500_000  # bytes of text in one answer
_LIMITS = ChildLimits(wall_s=60, cpu_s=30)


class UnreadableDocument(ToolError):
    """The document cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A page, sheet, slide or chapter, by its number from 1 on. `lines` begin at line `line` of it, from 1 on; if not
    `whole`, the room ended before it did. No line has more than `document.LONGEST_LINE` characters.
    """

    number: int
    title: str
    line: int
    lines: Sequence[str]
    whole: bool


@dataclass(frozen=True, kw_only=True)
class Document:
    """`count` parts, called `unit` ("page"); `parts` are those that were asked for. `kind` is such as "PDF"."""

    kind: str
    unit: str
    title: str
    count: int
    parts: Sequence[Part]


async def read_document(data: bytes, name: str, *, part: int = 1, line: int = 1, room: int = ROOM) -> Document:
    """The parts from number `part` on, of that one the lines from `line` on, in about `room` bytes, one line at least.

    `name` is for the message, and tells formats apart that have no signature. Raises UnreadableDocument.
    """
    request = {"name": name, "part": part, "line": line, "room": room}
    answer = await _answer("tools_app.documents.child", request, data, name)
    return Document(**answer | {"parts": [Part(**each) for each in answer["parts"]]})


def mark(part: Part) -> str:
    """The line that begins it."""
    return f"--- {part.title} ---"


async def page_picture(data: bytes, name: str, page: int) -> bytes:
    """A page of a PDF, from 1, drawn as a PNG. Raises UnreadableDocument, also for what is no PDF."""
    if not is_pdf(data):
        raise UnreadableDocument(
            f"{name} is no PDF: only pages of a PDF can be drawn here. Convert it to PDF first, "
            "with LibreOffice in the shell where it is installed."
        )
    answer = await _answer("tools_app.documents.pdf", {"page": page}, data, name)
    return base64.b64decode(answer["picture"])


async def _answer(module: str, request: dict[str, Any], data: bytes, name: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await answer_of(module, request, data, limits=_LIMITS)
    except NoAnswer as error:
        raise UnreadableDocument(
            f"{name} is too large or too complex to be read here. Read a part of it with Python in the shell."
        ) from error
    if "error" in answer:
        raise UnreadableDocument(f"{name} cannot be read. {answer['error']}")
    return answer
