"""The process's one asyncio loop: LLM calls, tool handlers and the channel layer live on it.

The engine is synchronous and hands it coroutines. In `serve` it is the web server's loop, elsewhere a thread.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def adopt(loop: asyncio.AbstractEventLoop) -> None:
    """Makes `loop`, which somebody else runs, the process's loop."""
    global _loop
    with _lock:
        _loop = loop


def get() -> asyncio.AbstractEventLoop:
    """The loop; it starts in a thread of its own where nobody gave us one."""
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="event-loop", daemon=True).start()
        return _loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Schedules `work` from any thread."""
    return asyncio.run_coroutine_threadsafe(work, get())
