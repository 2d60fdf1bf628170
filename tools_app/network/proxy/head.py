"""The heads of HTTP messages as a proxy reads and writes them (RFC 9112)."""

import base64
import binascii
import re
from dataclasses import dataclass

from yarl import URL

from tools_app.errors import AddressRefused
from tools_app.network.policy import parse_url

_LINE = re.compile(r"(?P<method>[A-Z]{1,20}) (?P<target>[\x21-\x7e]+) HTTP/1\.[01]")
_PATH = re.compile(r"http://[^/?#]+(?P<path>[^#]*).*", re.IGNORECASE)  # byte for byte: signatures depend on it
_FIELD = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?P<value>[^\r\n\0]*?)[ \t]*")
_STATUS = re.compile(r"HTTP/1\.[01] (?P<status>\d{3})( [^\r\n\0]*)?")
# They concern one connection only. An upgrade is asked for through a tunnel.
_HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade"}

Fields = list[tuple[str, str]]


class MalformedHead(Exception):
    """This is no head of an HTTP/1 message."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """`path` is what stands behind the host of `url`, as it was written."""

    method: str
    url: URL
    path: str
    fields: Fields

    @property
    def is_tunnel(self) -> bool:
        return self.method == "CONNECT"

    @property
    def body_size(self) -> int:
        """Bytes that follow. Raises MalformedHead where their number is not said, once and plainly."""
        sizes = {value for name, value in self.fields if name.lower() == "content-length"}
        chunked = any(name.lower() == "transfer-encoding" for name, _ in self.fields)
        if chunked or len(sizes) > 1 or not all(re.fullmatch(r"\d{1,15}", size, re.ASCII) for size in sizes):
            raise MalformedHead("the length of the body is not plain")
        return int(sizes.pop()) if sizes else 0

    @property
    def credential(self) -> tuple[str, str]:
        """The user and the password for the proxy; empty where there are none."""
        value = next((value for name, value in self.fields if name.lower() == "proxy-authorization"), "")
        scheme, _, encoded = value.partition(" ")
        try:
            decoded = base64.b64decode(encoded, validate=True).decode("ascii") if scheme.lower() == "basic" else ""
        except (binascii.Error, UnicodeDecodeError):
            return "", ""
        user, _, password = decoded.partition(":")
        return user, password

    def onward(self) -> bytes:
        """The head as the server behind the proxy gets it: its host is the one that was judged."""
        fields = [field for field in self.fields if field[0].lower() not in {*_HOP_BY_HOP, "host"}]
        line = f"{self.method} {self.path if self.path.startswith('/') else f'/{self.path}'} HTTP/1.1"
        return _written(line, [("Host", self.url.host_port_subcomponent or ""), *fields])


def read_request(head: bytes) -> Request:
    """Raises MalformedHead, or AddressRefused for a target that is no whole address."""
    line, fields = _parts(head)
    match = _LINE.fullmatch(line)
    if not match:
        raise MalformedHead(line[:100])
    method, target = match["method"], match["target"]
    url = parse_url(f"http://{target}" if method == "CONNECT" else target)
    if url.scheme != "http" or not url.host or url.user or url.password:
        raise AddressRefused(f"The proxy takes whole http addresses, not {target[:100]!r}.")
    path = _PATH.fullmatch(target)
    return Request(method=method, url=url, path=path["path"] if path else "", fields=fields)


def read_status(head: bytes) -> int:
    """The status of a response."""
    match = _STATUS.fullmatch(_parts(head)[0])
    if not match:
        raise MalformedHead("no status line")
    return int(match["status"])


def closing(head: bytes) -> bytes:
    """A response's head that says that no other will follow on its connection."""
    line, fields = _parts(head)
    return _written(line, [field for field in fields if field[0].lower() not in _HOP_BY_HOP])


def _parts(head: bytes) -> tuple[str, Fields]:
    line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    matches = [_FIELD.fullmatch(text) for text in lines]
    if not all(matches):
        raise MalformedHead("a field of the head")
    return line, [(match["name"], match["value"]) for match in matches if match]


def _written(line: str, fields: Fields) -> bytes:
    lines = [line, *(f"{name}: {value}" for name, value in fields), "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")
