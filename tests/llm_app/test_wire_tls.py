"""What only a connection over TLS does: it reads on in a pause, and is gone when that ends."""

import asyncio
import datetime
import socket
import ssl
import struct
from contextlib import aclosing
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from llm_app import errors
from llm_app.transport import wire

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'10\r\ndata: {"a": 1}\n\n\r\n'
DAY = datetime.timedelta(days=1)


def server_context(folder: Path) -> ssl.SSLContext:
    """With a certificate that nobody has signed."""
    key, path = ec.generate_private_key(ec.SECP256R1()), folder / "certificate.pem"
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - DAY, now + DAY)
    pem, bare = serialization.Encoding.PEM, serialization.NoEncryption()
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, bare)
    path.write_bytes(written + made.sign(key, hashes.SHA256()).public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def read(request: wire.HTTPRequest) -> None:
    async with aclosing(wire.events(request, silence_s=5, total_s=9)) as events:
        async for _ in events:
            pass


@pytest.mark.parametrize("seconds", [0.301, 0.313, 0.327, 0.331])
async def test_a_reset_of_a_quick_stream_is_a_cut_stream(tmp_path, seconds):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"the body")
        writer.write(HEAD)
        now = asyncio.get_running_loop().time
        end = now() + seconds
        while now() < end:
            writer.write(EVENT)
            await asyncio.sleep(0.001)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_context(tmp_path)) as server:
        connector = aiohttp.TCPConnector(ssl=False)  # takes any certificate
        wire._sessions[asyncio.get_running_loop()] = aiohttp.ClientSession(connector=connector)
        port = server.sockets[0].getsockname()[1]
        request = wire.HTTPRequest(url=f"https://127.0.0.1:{port}/v1", headers={}, body=b"the body")
        with pytest.raises(errors.StreamCut):
            await read(request)
        await wire.close()
