"""A page of a tool's result that shows a document: whole lines of its parts, and the call for the next page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools_app.documents.reader import Document, mark, read_document
from tools_app.errors import ToolError
from tools_app.paging import size

NextCall = Callable[[int, int | None, int | None], str]
_WORDS = 200  # bytes around the call for the next page


@dataclass(frozen=True, kw_only=True)
class DocumentPage:
    """The page: `lines` of the document with a mark before each part, and in `closing` the next call, or ""
    at the end.
    """

    title: str
    lines: Sequence[str]
    closing: str

    def __str__(self) -> str:
        return "\n".join([*self.lines, *filter(None, [self.closing])])


async def document_page(
    data: bytes, name: str, *, offset: int, skip: int, limit: int | None, room: int, next_call: NextCall
) -> DocumentPage:
    """Return the parts from number `offset` on, without its first `skip` lines, at most `limit` parts, in `room` bytes.

    `next_call` returns the call for an offset, skip and limit.

    Raises: UnreadableDocument; ToolError if `offset` is beyond the end.
    """
    words = size(next_call(offset, skip, limit)) + _WORDS
    document = await read_document(data, name, part=offset, line=skip + 1, room=max(room - words, room // 2))
    if offset > document.count:
        raise ToolError(f"There is no {document.unit} {offset}: {name} has {document.count}.")
    parts = document.parts[:limit]
    about = f"{document.kind}, {_counted(document)}{f', “{document.title}”' if document.title else ''}"
    lines = [f"({about})"] if offset == 1 and not skip else []
    for part in parts:
        lines += [mark(part), *part.lines] if part.line == 1 else part.lines
    return DocumentPage(title=document.title, lines=lines, closing=_closing(document, limit, next_call))


def _counted(document: Document) -> str:
    return f"{document.count:,} {document.unit}{'' if document.count == 1 else 's'}"


def _closing(document: Document, limit: int | None, next_call: NextCall) -> str:
    """Return which parts are shown and how to read on, or "" at the end of the document."""
    parts = document.parts[:limit]
    first, last = parts[0].number, parts[-1]
    if last.whole and last.number == document.count:
        return ""
    unit = document.unit
    shown = f"{unit}s {first:,} to {last.number:,}" if last.number > first else f"{unit} {first:,}"
    shown += f" of {document.count:,}"
    if not last.whole:
        left = limit and limit - (last.number - first)
        goes_on = next_call(last.number, last.line - 1 + len(last.lines), left)
        return f"[{shown}; {unit} {last.number} goes on. Next page: {goes_on}]"
    if limit and limit == len(parts):
        return f"[{shown}; the next one is offset={last.number + 1}]"
    left = limit and limit - len(parts)
    return f"[{shown}. Next page: {next_call(last.number + 1, None, left)}]"
