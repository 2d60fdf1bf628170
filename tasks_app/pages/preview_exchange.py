"""One HTTP exchange with a server in a sandbox. Responses are untrusted: size, time and headers are limited."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

import h11

from tools_app.errors import PortUnreachable

HEAD_SECONDS = 30.0  # from the request to the response headers
IDLE_SECONDS = 60.0  # between two parts of a body
MAX_SECONDS = 600.0
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 100 * 1000**2
MAX_REWRITTEN_BYTES = 4 * 1000**2  # longer pages are passed on unchanged
MIN_PART_BYTES = 1000  # that a part of a body counts as: many tiny parts would keep this server busy
_CHUNK = 64 * 1024

# Allow lists: no cookies, credentials or proxy headers are passed on.
_REQUEST_HEADERS = re.compile(
    r"accept|accept-language|content-type|range|if-(match|none-match|range|modified-since|unmodified-since)"
    r"|x-requested-with|x-csrf-?token|hx-[a-z-]+"
)
_RESPONSE_HEADERS = re.compile(
    r"content-(type|length|language|disposition|range|encoding)|accept-ranges|etag|last-modified|hx-[a-z-]+"
)
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_ROOT = "http://sandbox"
_REDIRECT = re.compile(r"[\x21-\x5b\x5d-\x7e]*")  # browsers drop tabs and read \ as /
_ATTRIBUTE_ADDRESS = re.compile(
    rb"""(\s(?:href|src|action|formaction|poster|data)\s*=\s*["']?)/(?![/>])""", re.IGNORECASE
)
_STYLE_ADDRESS = re.compile(rb"""(url\(\s*["']?|@import\s+["'])/(?!/)""", re.IGNORECASE)
_PAGE_BEGINNINGS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (rb"<head(\s[^<>]*)?>", rb"<html(\s[^<>]*)?>", rb"<!doctype[^<>]*>")
]
# The script moves the requests of the page's own scripts below the preview's prefix.
_SCRIPT = """<script>(()=>{const p=%s,f=u=>typeof u==="string"&&/^\\/(?!\\/)/.test(u)&&!u.startsWith(p+"/")?p+u:u,
F=window.fetch,X=XMLHttpRequest.prototype,O=X.open;window.fetch=(u,o)=>F(f(u),o);
X.open=function(m,u,...r){return O.call(this,m,f(u),...r)};
if(window.EventSource){const E=EventSource;window.EventSource=function(u,o){return new E(f(u),o)}}})()</script>"""


@dataclass(frozen=True, kw_only=True)
class PortRequest:
    """A request for a port.

    `target` is the path with the query. `prefix` is the path of the preview in the browser.
    """

    method: str
    target: str
    port: int
    prefix: str
    headers: Mapping[str, str]
    body: bytes

    def as_event(self) -> h11.Request:
        """Return the request without headers that identify the user or this site."""
        valid = ((name, value) for name, value in self.headers.items() if _HEADER_VALUE.fullmatch(value))
        allowed = {name: value for name, value in valid if _REQUEST_HEADERS.fullmatch(name.lower())}
        fields = {"Host": f"localhost:{self.port}", **allowed, "Accept-Encoding": "identity", "Connection": "close"}
        if self.body or self.method not in ("GET", "HEAD"):
            fields["Content-Length"] = str(len(self.body))
        return h11.Request(method=self.method, target=self.target, headers=list(fields.items()))


class PortResponse:
    """A response. `begin` reads its headers, iteration yields its body. `close` must always be called."""

    def __init__(self, request: PortRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._request, self._reader, self._writer = request, reader, writer
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._deadline = asyncio.get_running_loop().time() + MAX_SECONDS
        self.status = 502
        self.headers: dict[str, str] = {}

    async def begin(self) -> "PortResponse":
        """Send the request and read the response headers.

        Raises: PortUnreachable.
        """
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                await self._send()
                self._store_head(await self._read_head())
        except (h11.ProtocolError, OSError, TimeoutError) as error:
            self.close()
            raise PortUnreachable(f"Port {self._request.port} gave no answer that a browser can show.") from error
        except BaseException:
            self.close()
            raise
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body with rewritten addresses. It ends early if it is too long, too slow or malformed."""
        try:
            rewrite = self._rewriter()
            if rewrite is None:
                async for part in self._read_body():
                    yield part
                return
            page, is_whole = bytearray(), True
            async for part in self._read_body():
                page += part
                if is_whole and len(page) <= MAX_REWRITTEN_BYTES:
                    continue
                is_whole = False
                yield bytes(page)
                page.clear()
            yield rewrite(bytes(page)) if is_whole else bytes(page)
        except (h11.ProtocolError, OSError, TimeoutError):
            return  # the browser shows the part that arrived
        finally:
            self.close()

    def close(self) -> None:
        self._writer.close()

    async def _send(self) -> None:
        event = self._request.as_event()
        self._writer.write(self._connection.send(event) or b"")
        if self._request.body:
            self._writer.write(self._connection.send(h11.Data(data=self._request.body)) or b"")
        self._writer.write(self._connection.send(h11.EndOfMessage()) or b"")
        await self._writer.drain()

    async def _read_head(self) -> h11.Response:
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise h11.RemoteProtocolError("no response")

    def _store_head(self, head: h11.Response) -> None:
        self.status = head.status_code
        fields = ((name.decode("ascii").lower(), value.decode("latin-1")) for name, value in head.headers)
        for name, value in fields:
            if name == "location":
                self.headers["Location"] = self._rewritten_location(value)
            elif _RESPONSE_HEADERS.fullmatch(name) and _HEADER_VALUE.fullmatch(value):
                self.headers[name] = value
        if self._rewriter():
            for name in ("content-length", "etag", "accept-ranges"):
                self.headers.pop(name, None)

    def _rewritten_location(self, value: str) -> str:
        """Return a redirect target below the prefix.

        Raises: ProtocolError for a target on another server.
        """
        own_origin = re.match(
            rf"https?://(localhost|127\.0\.0\.1|0\.0\.0\.0|sandbox):{self._request.port}(?=/|$)", value
        )
        location = (value[own_origin.end() :] or "/") if own_origin else value
        if not _REDIRECT.fullmatch(location) or re.match(r"[a-z][a-z0-9+.-]*:|//", location, re.IGNORECASE):
            raise h11.RemoteProtocolError("it leads elsewhere")
        dotted = re.sub("%2e", ".", location, flags=re.IGNORECASE)  # browsers decode these dots
        joined = urljoin(_ROOT + self._request.target, dotted)
        return self._request.prefix + (joined.removeprefix(_ROOT) or "/")

    async def _read_body(self) -> AsyncIterator[bytes]:
        remaining = MAX_BODY_BYTES
        while True:
            async with asyncio.timeout_at(min(self._deadline, asyncio.get_running_loop().time() + IDLE_SECONDS)):
                event = await self._next_event()
            if not isinstance(event, h11.Data):
                return
            remaining -= max(len(event.data), MIN_PART_BYTES)
            if remaining < 0:
                return
            yield bytes(event.data)

    async def _next_event(self) -> object:
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(_CHUNK))
        return event

    def _rewriter(self) -> "_Rewriter | None":
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("text/html", "text/css") or self.headers.get("content-encoding") or self.status == 206:
            return None
        return _Rewriter(self._request.prefix, is_page=kind == "text/html")


@dataclass(frozen=True)
class _Rewriter:
    """A rewriter that moves addresses beginning with / below the prefix, in attributes, styles and scripts."""

    prefix: str
    is_page: bool

    def __call__(self, text: bytes) -> bytes:
        replacement = rf"\1{self.prefix}/".encode()
        text = _STYLE_ADDRESS.sub(replacement, text)
        if not self.is_page:
            return text
        text = _ATTRIBUTE_ADDRESS.sub(replacement, text)
        script = (_SCRIPT % f'"{self.prefix}"').encode()
        matches = (beginning.search(text[:_CHUNK]) for beginning in _PAGE_BEGINNINGS)
        position = next((match.end() for match in matches if match), 0)
        return text[:position] + script + text[position:]
