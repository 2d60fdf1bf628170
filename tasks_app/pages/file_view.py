"""The page of one workspace file: text, code, Markdown, pictures, documents, or HTML in a sandbox."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from tasks_app.access import Request, signed_in, visible_session
from tasks_app.models import Session
from tasks_app.pages.document_view import document_html
from tasks_app.pages.markdown import PICTURES, markdown
from tasks_app.record import redactor_of
from tasks_app.runtime import event_loop
from tasks_app.workspace.downloads import HEADERS
from tasks_app.workspace.folders import workspace_of
from tools_app.documents import is_document, is_pdf, page_picture, read_document
from tools_app.errors import ToolError

MAX_TEXT_BYTES = 200_000
MAX_DOCUMENT_BYTES = 30 * 1000**2
_HEAD_BYTES = 2048
_OFFICE = ("Word", "PowerPoint", "OpenDocument text", "OpenDocument presentation")


@signed_in
@require_GET
def show(request: Request, session_id: UUID, path: str) -> HttpResponse:
    """Show a file, or part `?page=` (from 1) of a document."""
    session, name = visible_session(request.user, session_id), path.rpartition("/")[2]
    head = _read(session, path, MAX_TEXT_BYTES + 1)
    context = {"session": session, "path": path, "name": redactor_of(session).redacted(name)}
    if name.lower().endswith(PICTURES):
        return render(request, "file.html", context | {"kind": "picture"})
    if name.lower().endswith((".html", ".htm")):
        return render(request, "file.html", context | {"kind": "page"})
    if is_document(head[:_HEAD_BYTES], name):
        number = request.GET.get("page", "1")
        page = max(1, int(number)) if number.isdecimal() and len(number) < 7 else 1
        return render(request, "file.html", context | _document(session, path, page))
    return render(request, "file.html", context | _text(session, name, head))


@signed_in
@require_GET
def page(request: Request, session_id: UUID, number: int, path: str) -> HttpResponse:
    """Return the picture of a PDF page, drawn in a child process."""
    session = visible_session(request.user, session_id)
    try:
        data = workspace_of(session).read_bytes(path, MAX_DOCUMENT_BYTES)
        png = event_loop.submit(page_picture(data, path, number)).result()
    except ToolError as error:
        raise Http404(str(error)) from error
    return HttpResponse(png, content_type="image/png", headers=HEADERS)


def _read(session: Session, path: str, limit: int) -> bytes:
    try:
        with workspace_of(session).open_for_read(path) as file:
            return file.read(limit)
    except ToolError as error:
        raise Http404(str(error)) from error


def _document(session: Session, path: str, number: int) -> dict[str, Any]:
    try:
        data = workspace_of(session).read_bytes(path, MAX_DOCUMENT_BYTES)
        document = event_loop.submit(read_document(data, path, part=number, line=1, room=MAX_TEXT_BYTES)).result()
    except ToolError as error:
        return {"kind": "", "problem": str(error)}
    lines, has_pages = document.parts[0].lines if document.parts else (), is_pdf(data[:_HEAD_BYTES])
    is_office = document.kind.startswith(_OFFICE)
    text = redactor_of(session).redacted("\n".join(lines if has_pages or is_office else _with_tables(lines)))
    return {
        "kind": "document",
        "about": document.kind,
        "unit": document.unit,
        "count": document.count,
        "page": number,
        "before": number - 1,
        "after": number + 1 if number < document.count else 0,
        "is_pdf": has_pages,
        "is_hidden": bool(document.parts) and document.parts[0].title.endswith("(hidden)"),
        "is_cut": bool(document.parts) and not document.parts[0].whole,
        "text": text,
        "html": "" if has_pages else document_html(text) if is_office else markdown(text),
    }


def _with_tables(lines: Iterable[str]) -> Iterator[str]:
    """Add the separator lines that Markdown needs below the first row of a table."""
    previous_line = ""
    for line in lines:
        is_row = line.startswith("| ")
        yield line if is_row else f"{line}  "  # a line break in Markdown
        if is_row and not previous_line.startswith("| "):
            yield "|" + " --- |" * (line.count(" |"))
        previous_line = line


def _decoded(head: bytes) -> str | None:
    """Return the text, or None for binary data. The last character may be cut."""
    try:
        return None if b"\0" in head else head[:MAX_TEXT_BYTES].decode()
    except UnicodeDecodeError as error:
        is_cut = len(head) > MAX_TEXT_BYTES and error.start > MAX_TEXT_BYTES - 4
        return head[: error.start].decode() if is_cut else None


def _text(session: Session, name: str, head: bytes) -> dict[str, Any]:
    """Return the context of a text: Markdown rendered, all else as code, highlighted if the language is known."""
    text = _decoded(head)
    if text is None:
        return {"kind": ""}
    text = redactor_of(session).redacted(text)
    suffix = name.rpartition(".")[2].lower()
    if suffix not in ("md", "markdown"):
        fence = "`" * (3 + max(map(len, re.findall("`+", text)), default=0))
        text = f"{fence}{suffix if suffix.isalnum() else ''}\n{text}\n{fence}"
    files = f"{session.get_absolute_url()}files/"
    return {"kind": "text", "html": markdown(text, files), "is_cut": len(head) > MAX_TEXT_BYTES}
