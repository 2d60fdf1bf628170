"""A pool of idle connections, by server."""

import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

from llm_app import errors
from llm_app.transport.address import Address
from llm_app.transport.answer import Answer
from llm_app.transport.connection import Connection

LONGEST_IDLE = 60.0  # seconds
LONGEST_END = 0.1  # seconds between the last event and the end of the body
_MOST_READS = 16  # reads of data after the last event, per check


@dataclass(kw_only=True, eq=False)
class _Idle:
    """An idle connection. The end of its last body may still arrive; until then no call can use it."""

    connection: Connection
    answer: Answer
    since: float = field(default_factory=time.monotonic)

    @property
    def until(self) -> float:
        return self.since + (LONGEST_IDLE if self.answer.is_over else LONGEST_END)

    def is_alive(self) -> bool:
        """Read arrived data, and return whether the connection can still be used."""
        try:
            for _ in range(_MOST_READS):
                data = self.connection.received()
                if data is None:
                    return self.answer.may_serve_again or not self.answer.is_over
                self.answer.feed(data)
                if not data:
                    return False
        except (OSError, errors.StreamCut):
            return False
        return False  # the server sends without end


class Pool:
    """A thread-safe pool. Its own thread closes expired connections, and ends when the pool is empty."""

    def __init__(self) -> None:
        self._changing = threading.Condition()
        self._idle: dict[object, list[_Idle]] = defaultdict(list)
        self._next_look = 0.0  # monotonic time of that thread's next check; 0 while it does not run

    def take(self, address: Address) -> Connection | None:
        """Return the most recently used connection to the server, or None."""
        with self._changing:
            self._drop_dead(address.server)
            idle = next((idle for idle in reversed(self._idle[address.server]) if idle.answer.is_over), None)
            if idle is not None:
                self._idle[address.server].remove(idle)
        return idle.connection if idle else None

    def give(self, address: Address, connection: Connection, answer: Answer) -> None:
        connection.patience = None
        answer.stop_decoding()
        idle = _Idle(connection=connection, answer=answer)
        with self._changing:
            self._idle[address.server].append(idle)
            self._drop_dead(address.server)
            if not self._next_look:
                with suppress(RuntimeError):  # no more threads can start: the next call tries again
                    threading.Thread(target=self._close_in_time, name="idle-connections", daemon=True).start()
                    self._next_look = idle.until
            elif idle.until < self._next_look:
                self._changing.notify()

    def close(self) -> None:
        """Close all idle connections."""
        with self._changing:
            for idle in (idle for kept in self._idle.values() for idle in kept):
                idle.connection.close()
            self._idle.clear()
            self._changing.notify()

    def _close_in_time(self) -> None:
        with self._changing:
            while True:
                for server in list(self._idle):
                    self._drop_dead(server)
                self._next_look = min((idle.until for kept in self._idle.values() for idle in kept), default=0.0)
                if not self._next_look:
                    return
                self._changing.wait(max(0.0, self._next_look - time.monotonic()))

    def _drop_dead(self, server: object) -> None:
        """Close the connections that are broken or expired."""
        now, living = time.monotonic(), []
        for idle in self._idle[server]:
            if idle.is_alive() and now < idle.until:
                living.append(idle)
            else:
                idle.connection.close()
        self._idle[server] = living
