"""A parser of HTTP/1.1 responses that arrive in chunks of any size."""

import zlib
from collections.abc import Callable

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from multidict import CIMultiDict

from llm_app import errors

_ENCODINGS = ("gzip", "x-gzip", "deflate")
_MAX_HEAD = 1024 * 1024  # bytes, including body bytes that arrive in the same read
_GZIP_OR_ZLIB = 47  # zlib's `wbits`: detect the format by its header


class IncomingResponse:
    """A response that is fed with received bytes and returns chunks of its body.

    Feed b"" when the connection ends. `has_head`: the status and the headers have arrived. `is_complete`: the response
    has ended; then `can_reuse_connection` tells whether the connection can take another request. Parsing is as lenient
    as that of aiohttp and browsers.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: CIMultiDict[str] = CIMultiDict()
        self.has_head = self.is_complete = self.can_reuse_connection = False
        self._chunks: list[bytes] = []
        self._is_unrequested = False  # the server sent a response without a request
        self._head_bytes_left = _MAX_HEAD
        self._decompress: Callable[[bytes], bytes] | None = None
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    def feed(self, data: bytes) -> list[bytes]:
        """Parse received bytes and return the new chunks of the body.

        Raises: StreamCut for invalid HTTP, and for a connection that ends too early.
        """
        if not data:
            self._connection_ended()
            return []
        self._head_bytes_left -= 0 if self.has_head else len(data)
        if self._head_bytes_left < 0:
            raise errors.StreamCut("the head of the answer does not end")
        try:
            self._parser.feed_data(data)
            chunks, self._chunks = self._chunks, []
            return [self._decompress(chunk) for chunk in chunks] if self._decompress else chunks
        except (HttpParserError, HttpParserUpgrade, zlib.error) as error:
            raise errors.StreamCut(type(error).__name__) from error

    def stop_decoding(self) -> None:
        """Stop decompressing: the rest of the body is read only to find its end."""
        self._decompress = None

    @property
    def content_type(self) -> str:
        """Return the media type in lower case, without parameters."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    def _connection_ended(self) -> None:
        """End a body without a length when the connection ends. Source: RFC 9112, 6.3."""
        has_length = "Content-Length" in self.headers or "chunked" in self.headers.get("Transfer-Encoding", "").lower()
        if not self.has_head or (has_length and not self.is_complete):
            raise errors.StreamCut("the connection ended")
        self.is_complete, self.can_reuse_connection = True, False

    # --- called by the parser --------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Start a new message: after an interim response (1xx), or for an unrequested response, which ends the
        connection.
        """
        self.can_reuse_connection = False
        self._is_unrequested = self.is_complete
        if not self._is_unrequested:
            self.headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_unrequested:
            self.headers.add(name.decode("latin-1"), value.decode("utf-8", "replace"))

    def on_headers_complete(self) -> None:
        if self._is_unrequested:
            return
        self.status = self._parser.get_status_code()
        self.has_head = self.status >= 200
        if self.headers.get("Content-Encoding", "").strip().lower() in _ENCODINGS:
            self._decompress = _Decompressor()

    def on_body(self, body: bytes) -> None:
        if not self._is_unrequested:
            self._chunks.append(body)

    def on_message_complete(self) -> None:
        if self.has_head and not self._is_unrequested:
            self.is_complete, self.can_reuse_connection = True, self._parser.should_keep_alive()


class _Decompressor:
    """A decompressor of gzip and zlib data, which may have several members. Source: RFC 1952, 2.2."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_OR_ZLIB)

    def __call__(self, data: bytes) -> bytes:
        chunks = []
        while data:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
            chunks.append(self._member.decompress(data))
            data = self._member.unused_data
        return b"".join(chunks)
