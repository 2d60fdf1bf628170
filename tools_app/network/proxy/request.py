"""The request that a client sends to the proxy.

h11 parses it. Messages that two programs could read in different ways are refused first.
"""

import base64
import binascii
import re
from dataclasses import dataclass

import h11
from yarl import URL

from tools_app.errors import AddressRefused
from tools_app.network.policy import parse_url

_AMBIGUOUS = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")  # bare LF, bare CR and folded fields, which h11 accepts
_HOST = re.compile(rb"\nhost:", re.IGNORECASE)
_PATH = re.compile(r"http://[^/?#]+(?P<path>[^#]*).*", re.IGNORECASE)  # byte for byte, because signatures depend on it
# Fields that concern a single connection. Upgrades need a tunnel.
_HOP_BY_HOP = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"trailer", b"upgrade"}

Fields = list[tuple[bytes, bytes]]


class MalformedMessage(Exception):
    """This is no HTTP/1 message that can be forwarded."""


@dataclass(frozen=True, kw_only=True)
class ProxyRequest:
    """A parsed request. `path` is the part after the host of `url`, exactly as written."""

    event: h11.Request
    url: URL
    path: str

    @property
    def is_tunnel(self) -> bool:
        return self.event.method == b"CONNECT"

    @property
    def body_size(self) -> int:
        """The number of bytes in the body.

        Raises: MalformedMessage for a chunked body, because a body must state its length.
        """
        if self._field(b"transfer-encoding"):
            raise MalformedMessage("the body does not state its length")
        return int(self._field(b"content-length") or 0)

    @property
    def credential(self) -> tuple[str, str]:
        """The user and password for the proxy, empty if there are none."""
        scheme, _, encoded = self._field(b"proxy-authorization").partition(b" ")
        try:
            decoded = base64.b64decode(encoded, validate=True).decode("ascii") if scheme.lower() == b"basic" else ""
        except (binascii.Error, UnicodeDecodeError):
            return "", ""
        user, _, password = decoded.partition(":")
        return user, password

    def forwarded(self) -> h11.Request:
        """Return the request for the server behind the proxy, with the host that was checked."""
        host = (self.url.host_port_subcomponent or "").encode()
        fields = [field for field in closing_headers(self.event) if field[0].lower() != b"host"]
        path = self.path if self.path.startswith("/") else f"/{self.path}"
        return h11.Request(method=self.event.method, target=path, headers=[(b"Host", host), *fields])

    def _field(self, name: bytes) -> bytes:
        return next((value for header, value in self.event.headers if header == name), b"")


def read_request(head: bytes, client: h11.Connection) -> ProxyRequest:
    """Parse a request.

    Raises: MalformedMessage, AddressRefused if the target is not an absolute address.
    """
    event = _parse(head, client)
    target = event.target.decode()
    url = parse_url(f"http://{target}" if event.method == b"CONNECT" else target)
    if url.scheme != "http" or not url.host or url.user or url.password:
        raise AddressRefused(f"The proxy takes absolute http addresses, not {target[:100]!r}.")
    path = _PATH.fullmatch(target)
    return ProxyRequest(event=event, url=url, path=path["path"] if path else "")


def closing_headers(message: h11.Request | h11.Response) -> Fields:
    """Return the fields to forward, with one that announces the end of the connection."""
    forwarded = [(name, value) for name, value in message.headers.raw_items() if name.lower() not in _HOP_BY_HOP]
    return [*forwarded, (b"Connection", b"close")]


def _parse(head: bytes, client: h11.Connection) -> h11.Request:
    if _AMBIGUOUS.search(head):
        raise MalformedMessage("a line that does not end in CR LF, or a folded field")
    if not _HOST.search(head):  # h11 requires a host; the proxy uses the one of the target
        line, end, fields = head.partition(b"\r\n")
        head = b"".join([line, end, b"Host: none", end, fields])
    try:
        client.receive_data(head)
        event = client.next_event()
    except h11.RemoteProtocolError as error:
        raise MalformedMessage(str(error)) from error
    if not isinstance(event, h11.Request) or event.http_version not in (b"1.0", b"1.1"):
        raise MalformedMessage("not a request of HTTP/1")
    return event
