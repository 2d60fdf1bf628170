"""Files as response bodies. An agent wrote them, so browsers must not treat them as pages of this site."""

import asyncio
import mimetypes
import os
from collections.abc import AsyncIterator
from typing import BinaryIO

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from tools_app.files import detect_encoding

CHUNK = 256 * 1024  # bytes
INERT_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "application/json")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}

# An agent's page on display, also in a separate tab: no script, form or request, and an opaque origin.
PREVIEW = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}


class Chunks:
    """An open file, read in a thread and closed with the response. Sends its initial size, even if the file grows."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        remaining = self.size
        while remaining and (chunk := await asyncio.to_thread(self._file.read, min(CHUNK, remaining))):
            remaining -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._file.close()


def download(file: BinaryIO, name: str, *, inline: bool = False) -> StreamingHttpResponse:
    """Return the open file as a download, or `inline` as a picture for our own pages. Closes the file."""
    chunks = Chunks(file)
    disposition = content_disposition_header(as_attachment=not inline, filename=name)
    headers = HEADERS | {"Content-Length": str(chunks.size), "Content-Disposition": str(disposition)}
    return StreamingHttpResponse(chunks, content_type=_content_type(name), headers=headers)


def text_download(data: bytes, name: str) -> HttpResponse:
    """Return generated data as a download."""
    disposition = content_disposition_header(as_attachment=True, filename=name)
    return HttpResponse(
        data, content_type=_content_type(name), headers=HEADERS | {"Content-Disposition": str(disposition)}
    )


def preview(file: BinaryIO) -> StreamingHttpResponse:
    """Return an HTML page for display in a sandbox that allows it nothing. Closes the file."""
    encoding = detect_encoding(file.read(CHUNK))
    file.seek(0)
    charset = encoding.label.lower() if encoding else "utf-8"
    chunks = Chunks(file)
    headers = HEADERS | PREVIEW | {"Content-Length": str(chunks.size)}
    return StreamingHttpResponse(chunks, content_type=f"text/html; charset={charset}", headers=headers)


def _content_type(name: str) -> str:
    """Return the content type by name if that type is inert, plain text for other texts, else a binary type."""
    guessed, encoding = mimetypes.guess_type(name)
    if encoding or guessed is None:
        return "application/octet-stream"
    if guessed.startswith("text/"):
        return "text/plain; charset=utf-8"
    return guessed if guessed in INERT_TYPES or guessed.startswith(("audio/", "video/")) else "application/octet-stream"
