"""Lets a tool, which is a coroutine, use synchronous code: calls of models, and the database."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from django.db import connection

from llm_app.call import Runner
from tasks_app.runtime.cancellation import Interruption

T = TypeVar("T")
_threads = ThreadPoolExecutor(max_workers=128, thread_name_prefix="beside-loop")  # as many as tasks: each has one


async def in_thread(work: Callable[[Runner], T]) -> T:
    """Runs `work` in a thread of its own. What it gives to the runner runs here, on the loop, and is cancelled with us;
    `work` has come to its end, whatever that is, before we go on.
    """
    interruption = Interruption(lambda: True)  # it is signalled for a cancellation only
    inherited = copy_context().run  # the ids of the log
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(_threads, inherited, _in_thread, work, interruption)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        interruption.signal()
        await asyncio.wait([running])
        running.exception()  # asyncio reports what nobody reads, and it was we who ended it
        raise


def _in_thread(work: Callable[[Runner], T], run: Runner) -> T:
    try:
        return work(run)
    finally:
        connection.close()
