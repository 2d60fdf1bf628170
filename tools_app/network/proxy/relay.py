"""Bytes from one side to the other, until one of them is done."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tools_app.network.proxy.head import MalformedHead, closing, read_status
from tools_app.network.proxy.passage import Passage

HEAD_END = b"\r\n\r\n"
_CHUNK = 64 * 1024
_MOST_INTERIM = 10  # responses of status 1xx before the one that counts


async def either(*ways: Coroutine[Any, Any, None]) -> None:
    """Runs until the first of `ways` ends, and ends the others. Raises what the first one raised."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, passage: Passage | None = None) -> None:
    """Everything, to the end. `passage` counts what comes back."""
    while chunk := await source.read(_CHUNK):
        if passage:
            passage.count(len(chunk))
        target.write(chunk)
        await target.drain()


async def send_body(size: int, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """A request's body of `size` bytes; then it waits until the client leaves, and takes nothing more from it."""
    while size:
        chunk = await source.read(min(size, _CHUNK))
        if not chunk:
            return
        size -= len(chunk)
        target.write(chunk)
        await target.drain()
    await source.read(1)


async def send_response(source: asyncio.StreamReader, target: asyncio.StreamWriter, passage: Passage) -> None:
    """The response, marked as the last one on its connection: another request would go past the guard."""
    for _ in range(_MOST_INTERIM):
        head = await source.readuntil(HEAD_END)
        if read_status(head) >= 200:
            target.write(closing(head))
            return await pump(source, target, passage)
    raise MalformedHead("too many interim responses")
