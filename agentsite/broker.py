"""The broker of the embedded mode: Kombu's in-memory transport, with consumers that are woken instead of polling."""

import threading
import time
from collections.abc import Callable
from functools import wraps
from queue import Empty
from typing import Any

from kombu.transport import memory


class _ChangeCounter:
    """A counter of events that consumers wait for: a new message, or an acknowledged one, which makes room."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0

    def notify(self) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, last_count: int, seconds: float | None) -> bool:
        """Wait at most `seconds` until the count differs from `last_count`. Return whether it does."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count != last_count, seconds)


_changes = _ChangeCounter()


def _notifying(method: Callable[..., object]) -> Callable[..., None]:
    @wraps(method)
    def changed(*args: Any, **kwargs: Any) -> None:
        method(*args, **kwargs)
        _changes.notify()

    return changed


class EmbeddedChannel(memory.Channel):
    _put, _put_fanout = _notifying(memory.Channel._put), _notifying(memory.Channel._put_fanout)
    basic_ack, basic_reject = _notifying(memory.Channel.basic_ack), _notifying(memory.Channel.basic_reject)


class EmbeddedTransport(memory.Transport):
    Channel = EmbeddedChannel
    cycle: Any

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        """Deliver the next message.

        Raises: TimeoutError if none arrives within `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            last_count = _changes.count
            try:
                self.cycle.get(self._deliver, timeout=timeout)
                return
            except Empty:
                if not _changes.wait(last_count, None if deadline is None else max(0.0, deadline - time.monotonic())):
                    raise TimeoutError from None
