"""Relays of bytes and messages from one side of the proxy to the other."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import h11

from tools_app.network.proxy.grant import ProxyGrant
from tools_app.network.proxy.request import MalformedMessage, closing_headers

HEAD_END = b"\r\n\r\n"
MAX_HEAD = 64 * 1024  # bytes
_CHUNK = 64 * 1024
_MAX_INTERIM = 10  # responses with a status 1xx before the final one


async def first_to_end(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run until the first of `coroutines` ends, cancel the others, and raise the exception of the first."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, grant: ProxyGrant | None = None) -> None:
    """Copy everything up to the end. `grant` counts the bytes."""
    while chunk := await source.read(_CHUNK):
        if grant:
            grant.count_received(len(chunk))
        target.write(chunk)
        await target.drain()


async def send_body(size: int, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy a request's body of `size` bytes, then wait until the client disconnects, without forwarding more."""
    while size:
        chunk = await source.read(min(size, _CHUNK))
        if not chunk:
            return
        size -= len(chunk)
        target.write(chunk)
        await target.drain()
    await source.read(1)


async def send_response(
    server: h11.Connection,
    source: asyncio.StreamReader,
    client: h11.Connection,
    target: asyncio.StreamWriter,
    grant: ProxyGrant,
) -> None:
    """Forward one response, marked as the last on its connection, so that no further request bypasses the check.

    Trailers of its chunks, and data after the response, are dropped.

    Raises: MalformedMessage
    """
    interim = 0
    try:
        async for event in _events(server, source, grant):
            if isinstance(event, h11.InformationalResponse):
                if (interim := interim + 1) > _MAX_INTERIM:
                    raise MalformedMessage("too many interim responses")
            elif isinstance(event, h11.Response):
                headers = closing_headers(event)
                event = h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)  # noqa: PLW2901
            elif isinstance(event, h11.EndOfMessage):
                event = h11.EndOfMessage()  # noqa: PLW2901  without trailers
            target.write(client.send(event) or b"")
            await target.drain()
    except h11.ProtocolError as error:
        raise MalformedMessage(str(error)) from error


async def _events(server: h11.Connection, source: asyncio.StreamReader, grant: ProxyGrant) -> AsyncIterator[h11.Event]:
    """Yield the events of one response."""
    while True:
        event = server.next_event()
        if event is h11.NEED_DATA:
            chunk = await source.read(_CHUNK)
            grant.count_received(len(chunk))
            server.receive_data(chunk)
        elif isinstance(event, h11.Event):
            yield event
            if isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                return
        else:  # PAUSED: the server switched to another protocol
            return
