"""A fetched body → text: HTML as Markdown, JSON indented, other text as it is."""

import asyncio
import json
import re
from dataclasses import replace

from tools_app.documents.kind import is_document
from tools_app.documents.reader import read_document
from tools_app.errors import FetchFailed
from tools_app.network.fetch import Fetched
from tools_app.web.charset import decode
from tools_app.web.extractor import extracted
from tools_app.web.page import Page
from tools_app.web.visible import visible

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.+|[a-z]+/(.+\+)?(json|xml|yaml|x-yaml|x-ndjson|javascript|x-javascript|toml|sql|csv)")
_MAX_INDENTED = 4_000_000  # characters
_UNKNOWN = ("", "application/octet-stream")
_SNIFFED = 2_000  # bytes of a body without a type that are looked at
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # no text has these; ESC begins shifts of some charsets


async def read(fetched: Fetched) -> Page:
    """Raises FetchFailed, with the reason, for what is no text and no document, or cannot be read."""
    if is_document(fetched.body, fetched.content_type):
        return await _document(fetched)
    kind = _kind(fetched)
    if kind not in _HTML and not _TEXT.fullmatch(kind):
        size = f"{'more than ' if fetched.truncated else ''}{len(fetched.body):,} bytes"
        raise FetchFailed(f"{fetched.url} is a file of type {kind}, {size}. Only text can be read here.")
    text = await asyncio.to_thread(decode, fetched.body, fetched.charset, truncated=fetched.truncated)
    if kind in _HTML:
        page = await extracted(text, fetched.url)
        return Page(title=visible(page["title"]), text=visible(page["text"]))
    if kind.endswith("json"):
        text = await asyncio.to_thread(_indented, text)
    return Page(title="", text=visible(text))


async def _document(fetched: Fetched) -> Page:
    if fetched.truncated:
        raise FetchFailed(f"The document {fetched.url} is larger than {len(fetched.body) // 1024**2} MB.")
    title, text = await read_document(fetched.body, fetched.url)
    return Page(title=visible(title), text=visible(text))


def within(fetched: Fetched, most: int) -> Fetched:
    """A page is read up to `most` bytes; a document only as a whole."""
    if is_document(fetched.body, fetched.content_type) or len(fetched.body) <= most:
        return fetched
    return replace(fetched, body=fetched.body[:most], truncated=True)


def _kind(fetched: Fetched) -> str:
    """The content type; if the server names none, the one that the body looks like."""
    if fetched.content_type not in _UNKNOWN:
        return fetched.content_type
    head = fetched.body[:_SNIFFED]
    if _BINARY.search(head):
        return "application/octet-stream"
    if re.match(rb"\s*<(!doctype html|html)\b", head, re.IGNORECASE):
        return "text/html"
    return "text/plain"


def _indented(text: str) -> str:
    """As it is where it cannot be indented: cut off, no JSON at all, or so deep that the indents would fill memory."""
    pieces, size = [], 0
    try:
        for piece in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(json.loads(text)):
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_INDENTED:
                return text
    except (ValueError, RecursionError):
        return text
    return "".join(pieces)
