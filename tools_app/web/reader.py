"""Conversion of a response to text: HTML becomes Markdown, JSON is indented, other text is unchanged."""

import asyncio
import json
import re
from dataclasses import dataclass, replace

from tools_app.child_process.parent import NoAnswer, answer_of
from tools_app.contract import ReaderService
from tools_app.documents.document import visible
from tools_app.documents.formats import has_signature
from tools_app.errors import FetchFailed
from tools_app.files.encoding import decode_text
from tools_app.network import FetchedResponse, NetworkPolicy, parse_url
from tools_app.network.fetch import fetch

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.+|[a-z]+/(.+\+)?(json|xml|yaml|x-yaml|x-ndjson|javascript|x-javascript|toml|sql|csv)")
_MAX_INDENTED = 4_000_000  # characters
_UNKNOWN = ("", "application/octet-stream")
_SERVICE_BYTES = 2 * 1024**2
_SERVICE_TIMEOUT_S = 40
_SNIFF_BYTES = 2_000  # bytes examined of a body without a type
# Control characters that text never contains. ESC is allowed, because it starts shifts of some charsets.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_NOT_DOCUMENTS = ("text/", "application/java-archive", "application/vnd.android")

# Text formats that are documents, and the file suffix by which the document reader recognizes them.
_DOCUMENT_SUFFIXES = {"message/rfc822": ".eml", "application/x-ipynb+json": ".ipynb"}


@dataclass(frozen=True, kw_only=True)
class WebPage:
    """The text of a page. `method` names the way it was read if the server's response did not contain the text."""

    title: str
    text: str
    method: str = ""


@dataclass(frozen=True, kw_only=True)
class WebDocument:
    """A fetched document. `url` is the address after redirects; `name` identifies formats without a signature."""

    url: str
    name: str
    data: bytes


async def read_page(fetched: FetchedResponse) -> WebPage:
    """Return the text of a response.

    Raises: FetchFailed with the reason, if it is not text or cannot be read.
    """
    kind = _content_type(fetched)
    if kind not in _HTML and not _TEXT.fullmatch(kind):
        size = f"{'more than ' if fetched.truncated else ''}{len(fetched.body):,} bytes"
        raise FetchFailed(f"{fetched.url} is a file of type {kind}, {size}. Only text can be read here.")
    text = await asyncio.to_thread(decode_text, fetched.body, fetched.charset, truncated=fetched.truncated)
    if kind in _HTML:
        page = await extract_page(text, fetched.url)
        return WebPage(title=visible(page["title"]), text=visible(page["text"]))
    if kind.endswith("json"):
        text = await asyncio.to_thread(_indent_json, text)
    return WebPage(title="", text=visible(text))


def truncated(fetched: FetchedResponse, max_bytes: int) -> FetchedResponse:
    """Return the response, truncated to `max_bytes`."""
    if len(fetched.body) <= max_bytes:
        return fetched
    return replace(fetched, body=fetched.body[:max_bytes], truncated=True)


def _content_type(fetched: FetchedResponse) -> str:
    """Return the content type, guessed from the body if the server sends none."""
    if fetched.content_type not in _UNKNOWN:
        return fetched.content_type
    head = fetched.body[:_SNIFF_BYTES]
    if _BINARY.search(head):
        return "application/octet-stream"
    if re.match(rb"\s*<(!doctype html|html)\b", head, re.IGNORECASE):
        return "text/html"
    return "text/plain"


def _indent_json(text: str) -> str:
    """Indent JSON. Return it unchanged if it is invalid, truncated, or nested so deeply that indents fill memory."""
    chunks, size = [], 0
    try:
        for chunk in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(json.loads(text)):
            chunks.append(chunk)
            size += len(chunk)
            if size > _MAX_INDENTED:
                return text
    except (ValueError, RecursionError):
        return text
    return "".join(chunks)


async def extract_page(html: str, url: str) -> dict[str, str]:
    """Return "title" and "text" of a page as Markdown. `url` is the base of relative links.

    Raises: FetchFailed
    """
    try:
        page: dict[str, str] = await answer_of("tools_app.web.extraction", {"url": url}, html.encode(errors="replace"))
        return page
    except NoAnswer as error:
        raise FetchFailed(f"The page at {url} is too large or too complex to be read.") from error


def web_document(fetched: FetchedResponse) -> WebDocument | None:
    """Return the document, or None if the response is not a document.

    Raises: FetchFailed for an incomplete document.
    """
    if not _is_document(fetched.body, fetched.content_type):
        return None
    if fetched.truncated:
        raise FetchFailed(f"The document {fetched.url} is larger than {len(fetched.body) // 1024**2} MB.")
    name = f"{fetched.url}{_DOCUMENT_SUFFIXES.get(fetched.content_type, '')}"
    return WebDocument(url=fetched.url, name=name, data=fetched.body)


def _is_document(body: bytes, content_type: str) -> bool:
    """Return whether this may be a document. An archive without one is only detected on reading."""
    if content_type in _DOCUMENT_SUFFIXES:
        return True
    return has_signature(body) and not (body.startswith(b"PK") and content_type.startswith(_NOT_DOCUMENTS))


async def read_by_service(service: ReaderService, url: str, policy: NetworkPolicy) -> WebPage:
    """Return a page as read by the service, which only learns public addresses.

    Raises: AddressRefused, FetchFailed
    """
    if policy.allows_by_name(parse_url(url)):
        raise FetchFailed("An internal page is not shown to the reader service.")
    headers = {"Accept": "text/plain"} | ({"Authorization": f"Bearer {service.key}"} if service.key else {})
    fetched = await fetch(
        f"{service.base_url}{url}",
        policy.with_host_of(service.base_url),
        max_bytes=_SERVICE_BYTES,
        timeout_s=_SERVICE_TIMEOUT_S,
        headers=headers,
    )
    if fetched.status != 200:
        raise FetchFailed(f"The reader service answered with HTTP status {fetched.status}.")
    return WebPage(title="", text=visible(decode_text(fetched.body, fetched.charset)))
