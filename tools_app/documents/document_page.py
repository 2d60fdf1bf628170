"""A page of a tool's result that shows a document: whole lines of its parts, and the call for the next page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools_app.documents.reader import DocumentExcerpt, part_heading, read_document
from tools_app.errors import ToolError
from tools_app.paging import size

NextCall = Callable[[int, int | None, int | None], str]
_CLOSING_BYTES = 200  # bytes around the call for the next page


@dataclass(frozen=True, kw_only=True)
class DocumentPage:
    """The page: `lines` of the document with a part_heading before each part, and in `closing` the next call.

    At the end, `closing` says that it is the last page, or is "" if the page shows all of the document. `position`
    names the parts, such as "pages 3 to 5 of 12".
    """

    title: str
    lines: Sequence[str]
    position: str
    closing: str
    has_more: bool

    def __str__(self) -> str:
        return "\n".join([*self.lines, *filter(None, [self.closing])])


async def document_page(
    data: bytes,
    name: str,
    *,
    offset: int,
    skip: int,
    limit: int | None,
    room: int,
    next_call: NextCall,
    is_source: bool = False,
) -> DocumentPage:
    """Return the parts from number `offset` on, without its first `skip` lines, at most `limit` parts, in `room` bytes.

    A negative `offset` counts from the end. `next_call` returns the call for an offset, skip and limit.

    Raises: UnreadableDocument; ToolError if `offset` is beyond the end.
    """
    closing_bytes = size(next_call(offset, skip, limit)) + _CLOSING_BYTES
    room = max(room - closing_bytes, room // 2)
    document = await read_document(data, name, part=offset, line=skip + 1, room=room, is_source=is_source)
    if offset > document.count or not document.parts:
        raise ToolError(f"There is no {document.unit} {offset}: {name} has {document.count}.")
    parts = document.parts[:limit]
    lines = []
    if parts[0].number == 1 and not skip:
        plural = "" if document.count == 1 else "s"
        title = f", “{document.title}”" if document.title else ""
        lines.append(f"({document.kind}, {document.count:,} {document.unit}{plural}{title})")
    for part in parts:
        lines += [part_heading(part), *part.lines] if part.line == 1 else part.lines
    has_more = not (parts[-1].whole and parts[-1].number == document.count)
    first, last, unit = parts[0].number, parts[-1].number, document.unit
    position = f"{unit}s {first:,} to {last:,}" if last > first else f"{unit} {first:,}"
    position += f" of {document.count:,}"
    if has_more:
        closing = _closing(document, position, limit, next_call)
    else:
        closing = "" if first == parts[0].line == 1 else f"[{position}: the end of the document]"
    return DocumentPage(title=document.title, lines=lines, position=position, closing=closing, has_more=has_more)


def _closing(document: DocumentExcerpt, position: str, limit: int | None, next_call: NextCall) -> str:
    """Return which parts are shown and how to read on."""
    parts, unit = document.parts[:limit], document.unit
    first, last = parts[0].number, parts[-1]
    if not last.whole:
        remaining = limit and limit - (last.number - first)
        call = next_call(last.number, last.line - 1 + len(last.lines), remaining)
        return f"[{position}; {unit} {last.number} goes on. Next page: {call}]"
    if limit and limit == len(parts):
        return f"[{position}; the next one is offset={last.number + 1}]"
    remaining = limit and limit - len(parts)
    return f"[{position}. Next page: {next_call(last.number + 1, None, remaining)}]"
