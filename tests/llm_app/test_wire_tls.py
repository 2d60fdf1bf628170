"""Requests over TLS, directly and through proxies. Every failure is one typed error."""

import asyncio
import datetime
import socket
import ssl
import struct
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from llm_app import errors
from llm_app.connection_test import explanation
from llm_app.models import Provider as ProviderRow
from llm_app.transport import connection, wire
from llm_app.transport.wire import HTTPRequest
from tests.llm_app.conftest import Impatient
from tests.llm_app.test_wire import EVENT, HEADERS, fields, heard, listening

HEAD = HEADERS + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
DAY = datetime.timedelta(days=1)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """An untrusted certificate and its key."""
    key, path = ec.generate_private_key(ec.SECP256R1()), tmp_path / "certificate.pem"
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - DAY, now + DAY)
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    pem, bare = serialization.Encoding.PEM, serialization.NoEncryption()
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, bare)
    path.write_bytes(written + made.sign(key, hashes.SHA256()).public_bytes(pem))
    return path


@pytest.fixture
def secure(certificate: Path) -> ssl.SSLContext:
    """The TLS settings of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this machine trust the certificate."""
    context = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(connection, "_tls_context", lambda: context)


def at_localhost(url: str) -> str:
    return url.replace("http://127.0.0.1", "https://localhost")


class Provider:
    """A server that answers each request with one event, and records connections and heads."""

    def __init__(self) -> None:
        self.opened, self.heads = 0, list[bytes]()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        while head := await _head(reader):
            self.heads.append(head)
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            writer.write(HEAD + CHUNK + b"0\r\n\r\n")
        writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@pytest.mark.usefixtures("trusted")
async def test_calls_share_a_connection_and_long_requests_arrive_completely(secure):
    provider = Provider()
    async with listening(provider, ssl=secure) as url:
        for body in (b"the body", b"x" * 3_000_000, b"the body"):
            request = HTTPRequest(**fields(at_localhost(url)) | {"body": body})
            assert [event.data for event in await asyncio.to_thread(heard, request)] == ['{"a": 1}']
    assert (provider.opened, len(provider.heads)) == (1, 3)


async def test_an_untrusted_certificate_is_rejected(secure):
    async with listening(Provider(), ssl=secure) as url:
        with pytest.raises(errors.ConnectionFailed) as caught:
            await asyncio.to_thread(heard, HTTPRequest(**fields(at_localhost(url))))
    provider = ProviderRow(base_url=at_localhost(url))
    assert explanation(caught.value, provider) == "The certificate of localhost is not valid."


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_of_another_host_is_rejected(secure):
    async with listening(Provider(), ssl=secure) as url:
        with pytest.raises(errors.ConnectionFailed) as caught:
            await asyncio.to_thread(heard, HTTPRequest(**fields(url.replace("http:", "https:"))))
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)


async def test_tls_to_a_plain_server_is_a_failed_connection():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with listening(serve) as url:
        with pytest.raises(errors.ConnectionFailed) as caught:
            await asyncio.to_thread(heard, HTTPRequest(**fields(at_localhost(url))))
    assert isinstance(caught.value.__cause__, ssl.SSLError)


async def test_an_unanswered_handshake_is_a_failed_connection():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with listening(serve) as url:
        with pytest.raises(errors.ConnectionFailed, match="no connection in time"):
            await asyncio.to_thread(heard, HTTPRequest(**fields(at_localhost(url))))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("seconds", [0.301, 0.313, 0.327, 0.331])
async def test_a_reset_of_a_fast_stream_is_a_cut_stream(secure, seconds):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"the body")
        writer.write(HEAD)
        now = asyncio.get_running_loop().time
        end = now() + seconds
        while now() < end:
            writer.write(CHUNK)
            await asyncio.sleep(0.001)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with listening(serve, ssl=secure) as url:
        with pytest.raises(errors.StreamCut):
            await asyncio.to_thread(heard, HTTPRequest(**fields(at_localhost(url))))


class Proxy:
    """A proxy that opens tunnels and forwards bytes. It records the heads of requests."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self._answer, self.heads = answer, list[bytes]()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(head := await _head(reader))
        writer.write(self._answer)
        if b" 200 " in self._answer:
            host, _, port = head.split()[1].decode().rpartition(":")
            beyond_reader, beyond = await asyncio.open_connection(host, int(port))
            await asyncio.gather(_pass_on(reader, beyond), _pass_on(beyond_reader, writer))
        writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
    except ConnectionError:
        pass
    writer.close()


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("is_secure", [False, True])
async def test_a_proxy_forwards_encrypted_bytes(secure, monkeypatch, is_secure):
    provider, proxy = Provider(), Proxy()
    async with listening(provider, ssl=secure) as url, listening(proxy, ssl=secure if is_secure else None) as through:
        named = (at_localhost(through) if is_secure else through).removesuffix("/v1").replace("://", "://me:p%40ss@")
        monkeypatch.setenv("https_proxy", named)
        monkeypatch.setenv("no_proxy", "")
        request = HTTPRequest(**fields(at_localhost(url)) | {"headers": {"Authorization": "Bearer key"}})
        for _ in range(2):
            assert await asyncio.to_thread(heard, request)
    (head,) = proxy.heads
    assert head.startswith(b"CONNECT localhost:")
    assert b"Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in head  # me:p@ss
    assert b"key" not in head
    assert all(b"Bearer key" in head and b"Proxy-" not in head for head in provider.heads)
    assert (provider.opened, len(provider.heads)) == (1, 2)


async def test_a_rejecting_proxy_is_a_failed_connection(monkeypatch):
    proxy = Proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    async with listening(proxy) as through:
        monkeypatch.setenv("https_proxy", through.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "")
        with pytest.raises(errors.ConnectionFailed, match="407"):
            await asyncio.to_thread(wire.get, "https://refused.example/v1", {}, Impatient(), total_s=5)
