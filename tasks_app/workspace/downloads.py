"""Files as response bodies. They are an agent's work: no browser may take one for a page of this site."""

import asyncio
import mimetypes
import os
from collections.abc import AsyncIterator
from typing import BinaryIO

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

CHUNK = 256 * 1024  # bytes
INERT = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "application/json")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}

# An agent's page, shown: no script, no form, no request, and an origin of its own, also in a tab of its own.
PREVIEW = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}


class Chunks:
    """An open file, read in a thread and closed with the response. As long as it was at first, also if it grows."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self.size
        while left and (chunk := await asyncio.to_thread(self._file.read, min(CHUNK, left))):
            left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self._file.close()


def download(file: BinaryIO, name: str, *, shown: bool = False) -> StreamingHttpResponse:
    """Takes over the open file. A browser saves it, unless it is `shown` as a picture in a page of ours."""
    chunks = Chunks(file)
    disposition = content_disposition_header(as_attachment=not shown, filename=name)
    headers = HEADERS | {"Content-Length": str(chunks.size), "Content-Disposition": str(disposition)}
    return StreamingHttpResponse(chunks, content_type=_type(name), headers=headers)


def text_download(data: bytes, name: str) -> HttpResponse:
    """What we have made, as a file to save."""
    disposition = content_disposition_header(as_attachment=True, filename=name)
    return HttpResponse(data, content_type=_type(name), headers=HEADERS | {"Content-Disposition": str(disposition)})


def preview(file: BinaryIO) -> StreamingHttpResponse:
    """Takes over the open file, a page of HTML, and shows it where it can do nothing."""
    chunks = Chunks(file)
    headers = HEADERS | PREVIEW | {"Content-Length": str(chunks.size)}
    return StreamingHttpResponse(chunks, content_type="text/html; charset=utf-8", headers=headers)


def _type(name: str) -> str:
    """The type by the name, where nothing of that type can act; text for other texts."""
    guessed, encoding = mimetypes.guess_type(name)
    if encoding or guessed is None:
        return "application/octet-stream"
    if guessed.startswith("text/"):
        return "text/plain; charset=utf-8"
    return guessed if guessed in INERT or guessed.startswith(("audio/", "video/")) else "application/octet-stream"
