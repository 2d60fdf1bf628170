"""Conversion of a response to text: HTML becomes Markdown, JSON is indented, other text is unchanged."""

import asyncio
import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools_app.child_process.parent import NoAnswer, answer_of
from tools_app.contract import ReaderService
from tools_app.documents.document import visible
from tools_app.documents.formats import has_signature
from tools_app.errors import FetchFailed
from tools_app.network import FetchedResponse, NetworkPolicy, parse_url
from tools_app.network.fetch import fetch

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.+|[a-z]+/(.+\+)?(json|xml|yaml|x-yaml|x-ndjson|javascript|x-javascript|toml|sql|csv)")
_MAX_INDENTED = 4_000_000  # characters
_UNKNOWN = ("", "application/octet-stream")
_SERVICE_BYTES = 2 * 1024**2
_SERVICE_TIMEOUT_S = 40
_SNIFFED = 2_000  # bytes examined of a body without a type
# Control characters that text never contains. ESC is allowed, because it starts shifts of some charsets.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_DECLARED_WITHIN = 4096  # bytes searched for a page's charset; the HTML standard says 1024
_META = re.compile(
    rb"<meta[^<>]+?charset\s*+=\s*+[\"']?+\s*+([a-z0-9_:.-]+)|<\?xml[^<>]+encoding=[\"']([a-z0-9_:.-]+)", re.I
)
# Accepted charset names. Python's other codecs are not charsets, and some ("punycode") take quadratic time.
_CHARSET = re.compile(
    r"(utf-?(8|16|32)|us-ascii$|ascii$|iso|latin|windows-|cp\d|koi8|gb|big5|euc|shift|sjis|tis|mac|hz|ks_c)", re.I
)
# The superset that browsers use for a name (encoding.spec.whatwg.org).
_MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "iso8859-1": "cp1252"}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FLAW = "\ufffd"
_FEW = 0.25  # of the characters beyond ASCII; a wrong charset spoils nearly all, a fault of the page only some
_NOT = ("text/", "application/java-archive", "application/vnd.android")

# Text formats that are documents, and the file suffix by which the document reader recognizes them.
_BY_TYPE = {"message/rfc822": ".eml", "application/x-ipynb+json": ".ipynb"}


@dataclass(frozen=True, kw_only=True)
class Page:
    """The text of a page. `by` names the method if the server's response did not contain the text."""

    title: str
    text: str
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class WebDocument:
    """A fetched document. `url` is the address after redirects; `name` identifies formats without a signature."""

    url: str
    name: str
    data: bytes


async def read_page(fetched: FetchedResponse) -> Page:
    """Return the text of a response.

    Raises: FetchFailed with the reason, if it is not text or cannot be read.
    """
    kind = _kind(fetched)
    if kind not in _HTML and not _TEXT.fullmatch(kind):
        size = f"{'more than ' if fetched.truncated else ''}{len(fetched.body):,} bytes"
        raise FetchFailed(f"{fetched.url} is a file of type {kind}, {size}. Only text can be read here.")
    text = await asyncio.to_thread(decode_text, fetched.body, fetched.charset, truncated=fetched.truncated)
    if kind in _HTML:
        page = await extract_page(text, fetched.url)
        return Page(title=visible(page["title"]), text=visible(page["text"]))
    if kind.endswith("json"):
        text = await asyncio.to_thread(_indented, text)
    return Page(title="", text=visible(text))


def within(fetched: FetchedResponse, most: int) -> FetchedResponse:
    """Return the response, truncated to `most` bytes."""
    if len(fetched.body) <= most:
        return fetched
    return replace(fetched, body=fetched.body[:most], truncated=True)


def _kind(fetched: FetchedResponse) -> str:
    """Return the content type, guessed from the body if the server sends none."""
    if fetched.content_type not in _UNKNOWN:
        return fetched.content_type
    head = fetched.body[:_SNIFFED]
    if _BINARY.search(head):
        return "application/octet-stream"
    if re.match(rb"\s*<(!doctype html|html)\b", head, re.IGNORECASE):
        return "text/html"
    return "text/plain"


def _indented(text: str) -> str:
    """Indent JSON. Return it unchanged if it is invalid, truncated, or nested so deeply that indents fill memory."""
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


def decode_text(body: bytes, declared: str = "", *, truncated: bool = False) -> str:
    """Decode a body without ever failing.

    `declared` is the charset of the HTTP header. `truncated` allows an incomplete character at the end.
    """
    charsets = list(_candidates(body, declared))
    for flaws_allowed in (0, _FEW):
        for charset in charsets:
            text = body.decode(charset, errors="replace")
            text = text.rstrip(_FLAW) if truncated else text
            if text.count(_FLAW) <= flaws_allowed * _beyond_ascii(text):
                return text
    return body.decode("cp1252", errors="replace")


def _candidates(body: bytes, declared: str) -> Iterator[str]:
    """Yield possible charsets. Valid UTF-8 is UTF-8 whatever the header says, unless all bytes are ASCII."""
    yield from (charset for mark, charset in _BOMS.items() if body.startswith(mark))
    if not body.isascii():
        yield "utf-8"
    match = _META.search(body[:_DECLARED_WITHIN])
    in_page = (match[1] or match[2]).decode() if match else ""
    yield from (_MEANT.get(name, name) for name in (_known(declared), _known(in_page), "utf-8") if name)


def _known(name: str) -> str:
    """Return Python's name of an accepted charset, otherwise ''."""
    try:
        return codecs.lookup(name).name if _CHARSET.match(name) else ""
    except LookupError:
        return ""


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", errors="ignore"))


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
    name = f"{fetched.url}{_BY_TYPE.get(fetched.content_type, '')}"
    return WebDocument(url=fetched.url, name=name, data=fetched.body)


def _is_document(body: bytes, content_type: str) -> bool:
    """Return whether this may be a document. An archive without one is only detected on reading."""
    if content_type in _BY_TYPE:
        return True
    return has_signature(body) and not (body.startswith(b"PK") and content_type.startswith(_NOT))


async def read_by_service(service: ReaderService, url: str, policy: NetworkPolicy) -> Page:
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
    return Page(title="", text=visible(fetched.body.decode(errors="replace")))
