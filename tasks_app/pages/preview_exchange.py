"""One HTTP exchange with a server in a sandbox. Responses are untrusted: size, time and headers are limited."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

import h11

from tools_app.errors import PortUnreachable

HEAD_S = 30.0  # from the request to the response headers
SILENCE_S = 60.0  # between two parts of a body
LONGEST_S = 600.0
MOST_HEAD = 64 * 1024  # bytes
MOST_BODY = 100 * 1000**2
MOST_REWRITTEN = 4 * 1000**2  # longer pages are passed on unchanged
LEAST_PART = 1000  # minimum bytes that a part of a body counts as: many tiny parts would keep this server busy
_CHUNK = 64 * 1024

# Allow lists: no cookies, credentials or proxy headers are passed on.
_SENT = re.compile(
    r"accept|accept-language|content-type|range|if-(match|none-match|range|modified-since|unmodified-since)"
    r"|x-requested-with|x-csrf-?token|hx-[a-z-]+"
)
_RETURNED = re.compile(
    r"content-(type|length|language|disposition|range|encoding)|accept-ranges|etag|last-modified|hx-[a-z-]+"
)
_VALUE = re.compile(r"[\x20-\x7e\t]*")
_ROOT = "http://sandbox"
_PLACE = re.compile(r"[\x21-\x5b\x5d-\x7e]*")  # browsers drop tabs and read \ as /
_ABSOLUTE = re.compile(rb"""(\s(?:href|src|action|formaction|poster|data)\s*=\s*["']?)/(?![/>])""", re.IGNORECASE)
_IN_STYLE = re.compile(rb"""(url\(\s*["']?|@import\s+["'])/(?!/)""", re.IGNORECASE)
_BEGINNINGS = [
    re.compile(it, re.IGNORECASE) for it in (rb"<head(\s[^<>]*)?>", rb"<html(\s[^<>]*)?>", rb"<!doctype[^<>]*>")
]
# The script moves the requests of the page's own scripts below the preview's prefix.
_SCRIPT = """<script>(()=>{const p=%s,f=u=>typeof u==="string"&&/^\\/(?!\\/)/.test(u)&&!u.startsWith(p+"/")?p+u:u,
F=window.fetch,X=XMLHttpRequest.prototype,O=X.open;window.fetch=(u,o)=>F(f(u),o);
X.open=function(m,u,...r){return O.call(this,m,f(u),...r)};
if(window.EventSource){const E=EventSource;window.EventSource=function(u,o){return new E(f(u),o)}}})()</script>"""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A request for a port.

    `target` is the path with the query. `prefix` is the path of the preview in the browser.
    """

    method: str
    target: str
    port: int
    prefix: str
    headers: Mapping[str, str]
    body: bytes

    def event(self) -> h11.Request:
        """Return the request without headers that identify the user or this site."""
        fitting = ((name, value) for name, value in self.headers.items() if _VALUE.fullmatch(value))
        kept = {name: value for name, value in fitting if _SENT.fullmatch(name.lower())}
        fields = {"Host": f"localhost:{self.port}", **kept, "Accept-Encoding": "identity", "Connection": "close"}
        if self.body or self.method not in ("GET", "HEAD"):
            fields["Content-Length"] = str(len(self.body))
        return h11.Request(method=self.method, target=self.target, headers=list(fields.items()))


class Answer:
    """A response. `begin` reads its headers, iteration yields its body. `close` must always be called."""

    def __init__(self, question: Question, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._question, self._reader, self._writer = question, reader, writer
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        self._ends = asyncio.get_running_loop().time() + LONGEST_S
        self.status = 502
        self.headers: dict[str, str] = {}

    async def begin(self) -> "Answer":
        """Send the request and read the response headers.

        Raises: PortUnreachable.
        """
        try:
            async with asyncio.timeout(HEAD_S):
                await self._send()
                self._take(await self._head())
        except (h11.ProtocolError, OSError, TimeoutError) as error:
            self.close()
            raise PortUnreachable(f"Port {self._question.port} gave no answer that a browser can show.") from error
        except BaseException:
            self.close()
            raise
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body with rewritten addresses. It ends early if it is too long, too slow or malformed."""
        try:
            if (rewrite := self._rewriter()) is None:
                async for part in self._body():
                    yield part
                return
            page, is_whole = bytearray(), True
            async for part in self._body():
                page += part
                if is_whole and len(page) <= MOST_REWRITTEN:
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
        event = self._question.event()
        self._writer.write(self._connection.send(event) or b"")
        if self._question.body:
            self._writer.write(self._connection.send(h11.Data(data=self._question.body)) or b"")
        self._writer.write(self._connection.send(h11.EndOfMessage()) or b"")
        await self._writer.drain()

    async def _head(self) -> h11.Response:
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise h11.RemoteProtocolError("no response")

    def _take(self, head: h11.Response) -> None:
        self.status = head.status_code
        fields = ((name.decode("ascii").lower(), value.decode("latin-1")) for name, value in head.headers)
        for name, value in fields:
            if name == "location":
                self.headers["Location"] = self._location(value)
            elif _RETURNED.fullmatch(name) and _VALUE.fullmatch(value):
                self.headers[name] = value
        if self._rewriter():
            for name in ("content-length", "etag", "accept-ranges"):
                self.headers.pop(name, None)

    def _location(self, value: str) -> str:
        """Return a redirect target below the prefix.

        Raises: ProtocolError for a target on another server.
        """
        own = re.match(rf"https?://(localhost|127\.0\.0\.1|0\.0\.0\.0|sandbox):{self._question.port}(?=/|$)", value)
        place = (value[own.end() :] or "/") if own else value
        if not _PLACE.fullmatch(place) or re.match(r"[a-z][a-z0-9+.-]*:|//", place, re.IGNORECASE):
            raise h11.RemoteProtocolError("it leads elsewhere")
        dotted = re.sub("%2e", ".", place, flags=re.IGNORECASE)  # browsers decode these dots
        joined = urljoin(_ROOT + self._question.target, dotted)
        return self._question.prefix + (joined.removeprefix(_ROOT) or "/")

    async def _body(self) -> AsyncIterator[bytes]:
        left = MOST_BODY
        while True:
            async with asyncio.timeout_at(min(self._ends, asyncio.get_running_loop().time() + SILENCE_S)):
                event = await self._next()
            if not isinstance(event, h11.Data):
                return
            if (left := left - max(len(event.data), LEAST_PART)) < 0:
                return
            yield bytes(event.data)

    async def _next(self) -> object:
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(_CHUNK))
        return event

    def _rewriter(self) -> "_Rewriter | None":
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("text/html", "text/css") or self.headers.get("content-encoding") or self.status == 206:
            return None
        return _Rewriter(self._question.prefix, is_page=kind == "text/html")


@dataclass(frozen=True)
class _Rewriter:
    """A rewriter that moves addresses beginning with / below the prefix, in attributes, styles and scripts."""

    prefix: str
    is_page: bool

    def __call__(self, text: bytes) -> bytes:
        before = rf"\1{self.prefix}/".encode()
        text = _IN_STYLE.sub(before, text)
        if not self.is_page:
            return text
        text = _ABSOLUTE.sub(before, text)
        script = (_SCRIPT % f'"{self.prefix}"').encode()
        found = filter(None, (beginning.search(text[:_CHUNK]) for beginning in _BEGINNINGS))
        place = next((match.end() for match in found), 0)
        return text[:place] + script + text[place:]
