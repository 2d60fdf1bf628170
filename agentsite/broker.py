"""The broker of the embedded mode: Kombu's in memory, but a message wakes who consumes: nobody looks for one."""

import threading
import time
from collections.abc import Callable
from functools import wraps
from queue import Empty
from typing import Any

from kombu.transport import memory


class _Changes:
    """What may let a consumer go on: a message has come, or one is acknowledged, which makes room for the next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0

    def tell(self) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, seen: int, seconds: float | None) -> bool:
        """Until there are more than were seen; whether there are."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count != seen, seconds)


_changes = _Changes()


def _told(method: Callable[..., object]) -> Callable[..., None]:
    @wraps(method)
    def changed(*args: Any, **kwargs: Any) -> None:
        method(*args, **kwargs)
        _changes.tell()

    return changed


class Channel(memory.Channel):
    _put, _put_fanout = _told(memory.Channel._put), _told(memory.Channel._put_fanout)
    basic_ack, basic_reject = _told(memory.Channel.basic_ack), _told(memory.Channel.basic_reject)


class Transport(memory.Transport):
    Channel = Channel
    cycle: Any

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        """Delivers the next message. Raises TimeoutError if none comes in so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            seen = _changes.count
            try:
                self.cycle.get(self._deliver, timeout=timeout)
                return
            except Empty:
                if not _changes.wait(seen, None if until is None else max(0.0, until - time.monotonic())):
                    raise TimeoutError from None
