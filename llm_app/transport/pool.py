"""Idle connections, stored by server for the next call."""

import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

from llm_app import errors
from llm_app.transport.address import Address
from llm_app.transport.connection import ByteStream
from llm_app.transport.response import IncomingResponse

LONGEST_IDLE = 60.0  # seconds
LONGEST_END = 0.1  # seconds between the last event and the end of the body
_MOST_READS = 16  # reads of data after the last event, per check


@dataclass(kw_only=True, eq=False)
class _IdleConnection:
    """An idle connection. The end of its last body may still arrive; until then no call can use it."""

    stream: ByteStream
    response: IncomingResponse
    since: float = field(default_factory=time.monotonic)

    @property
    def expires_at(self) -> float:
        """Return the monotonic time at which the connection is closed."""
        return self.since + (LONGEST_IDLE if self.response.is_complete else LONGEST_END)

    def is_usable(self) -> bool:
        """Read arrived data, and return whether the connection can still be used."""
        try:
            for _ in range(_MOST_READS):
                data = self.stream.receive_available()
                if data is None:
                    return self.response.can_reuse_connection or not self.response.is_complete
                self.response.feed(data)
                if not data:
                    return False
        except (OSError, errors.StreamCut):
            return False
        return False  # the server sends without end


class IdleConnections:
    """A thread-safe pool. Its own thread closes expired connections, and ends when the pool is empty."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._idle: dict[object, list[_IdleConnection]] = defaultdict(list)
        self._next_check = 0.0  # monotonic time of that thread's next check; 0 while it does not run

    def take(self, address: Address) -> ByteStream | None:
        """Return the most recently used connection to the server, or None."""
        with self._condition:
            self._close_unusable(address.pool_key)
            for idle in reversed(self._idle[address.pool_key]):
                if idle.response.is_complete:
                    self._idle[address.pool_key].remove(idle)
                    return idle.stream
        return None

    def add(self, address: Address, stream: ByteStream, response: IncomingResponse) -> None:
        stream.deadlines = None
        response.stop_decoding()
        idle = _IdleConnection(stream=stream, response=response)
        with self._condition:
            self._idle[address.pool_key].append(idle)
            self._close_unusable(address.pool_key)
            if not self._next_check:
                with suppress(RuntimeError):  # no more threads can start: the next call tries again
                    threading.Thread(target=self._close_expired, name="idle-connections", daemon=True).start()
                    self._next_check = idle.expires_at
            elif idle.expires_at < self._next_check:
                self._condition.notify()

    def close(self) -> None:
        """Close all idle connections."""
        with self._condition:
            for connections in self._idle.values():
                for idle in connections:
                    idle.stream.close()
            self._idle.clear()
            self._condition.notify()

    def _close_expired(self) -> None:
        """Close connections at their time, until none is left. This is the work of the pool's thread."""
        with self._condition:
            while True:
                for key in list(self._idle):
                    self._close_unusable(key)
                times = [idle.expires_at for connections in self._idle.values() for idle in connections]
                self._next_check = min(times, default=0.0)
                if not self._next_check:
                    return
                self._condition.wait(max(0.0, self._next_check - time.monotonic()))

    def _close_unusable(self, key: object) -> None:
        """Close the connections that are broken or expired."""
        now, usable = time.monotonic(), []
        for idle in self._idle[key]:
            if idle.is_usable() and now < idle.expires_at:
                usable.append(idle)
            else:
                idle.stream.close()
        self._idle[key] = usable
