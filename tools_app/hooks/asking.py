"""Asking one hook: within its time, wherever it runs, and with an answer that it may give."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any

from tools_app.hooks.base import Annotate, AskApproval, Hook, Refuse, Verdict


def answers(hook: Hook, method: str) -> bool:
    """Whether the hook has such a method of its own."""
    return getattr(type(hook), method) is not getattr(Hook, method)


async def ask(hook: Hook, method: str, *about: Any) -> Verdict | None:
    """Raises TimeoutError, TypeError for what is no verdict, or whatever the hook raises."""
    work = getattr(hook, method)
    async with asyncio.timeout(hook.limit_s):
        said = await (work(*about) if inspect.iscoroutinefunction(work) else _in_thread(work, *about))
    if said is not None and not isinstance(said, Refuse | Annotate | AskApproval):
        raise TypeError(f"{hook.name} answered with {type(said).__name__}")
    return said


def _in_thread(work: Callable[..., Any], *about: Any) -> "asyncio.Future[Any]":
    """In a thread that nothing waits for when its time is over: whoever hangs in it stops nobody else."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def run() -> None:
        try:
            outcome = (future.set_result, work(*about))
        except Exception as error:  # noqa: BLE001  it is raised where the hook is awaited
            outcome = (future.set_exception, error)
        loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="hook", daemon=True).start()
    return future
