"""The process's one asyncio loop, for tool handlers, new connections to providers, litellm and the channel layer.

The engine is synchronous and submits coroutines to it. In `serve` it is the web server's loop, elsewhere a thread.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import close_old_connections

from llm_app.transport import ready_descriptors

T = TypeVar("T")
_lock = threading.Lock()
_threads = ThreadPoolExecutor(3, thread_name_prefix="live")  # each keeps a connection where there is no pool
_loop: asyncio.AbstractEventLoop | None = None


def adopt(loop: asyncio.AbstractEventLoop) -> None:
    """Make `loop`, which the caller runs, the process's loop."""
    global _loop
    with _lock:
        _loop = loop


def get() -> asyncio.AbstractEventLoop:
    """Return the loop. Start one in a thread if none was adopted."""
    loop = _loop
    return _started() if loop is None or loop.is_closed() else loop


def _started() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:  # another thread may have been first
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="event-loop", daemon=True).start()
        return _loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Schedule `work` from any thread."""
    return asyncio.run_coroutine_threadsafe(work, get())


class Uninterrupted:
    """A runner for calls that no person can interrupt."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        return submit(work).result()

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        return bool(ready_descriptors(seconds, {descriptor: events}))


async def in_thread(work: Callable[[], T]) -> T:
    """Run database work off the event loop. On PostgreSQL its connection returns to the pool."""
    return await asyncio.get_running_loop().run_in_executor(_threads, _with_connection, work)


def _with_connection(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        close_old_connections()
