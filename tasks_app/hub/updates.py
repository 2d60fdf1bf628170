"""Updates for the followers of a session, encoded once for all: HTML for pages, events for programs.

Texts that arrive close together are sent as one: a screen is drawn no faster.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import orjson

from tasks_app.models import ContextEntry
from tasks_app.pages.fragments import Viewer
from tasks_app.record.entry_json import entry_json, plan_event


class Event:
    """An event as it was broadcast, or put together: a delta, a reset, a state …"""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    @cached_property
    def as_json(self) -> str:
        return orjson.dumps(self.content).decode()

    @cached_property
    def in_stream(self) -> bytes:
        data = {name: value for name, value in self.content.items() if name != "type"}
        return b"event: %s\ndata: %s\n\n" % (self.content["type"].encode(), orjson.dumps(data))


class Appended:
    """An entry, redacted."""

    def __init__(self, entry: ContextEntry) -> None:
        self.entry, self.seq = entry, entry.seq

    @cached_property
    def in_stream(self) -> bytes:
        message = b"id: %d\nevent: entry\ndata: %s\n\n" % (self.seq, orjson.dumps(entry_json(self.entry)))
        plan = plan_event(self.entry)
        return message + b"event: plan\ndata: %s\n\n" % orjson.dumps(plan) if plan else message


@dataclass(frozen=True, kw_only=True, eq=False)
class News:
    """What one look at the rows has found.

    `items` is the HTML of the entries, `whole` that of all pieces around them, and `changed` that of the pieces which
    look different since the last news: for each viewer. `state` is that of the newest task.
    """

    appended: Sequence[Appended] = ()
    state: Event | None = None
    items: Mapping[Viewer, str] = field(default_factory=dict)
    whole: Mapping[Viewer, str] = field(default_factory=dict)
    changed: Mapping[Viewer, str] = field(default_factory=dict)

    def is_known_to(self, seq: int) -> bool:
        """Whether somebody with the entries up to `seq` has those of the news."""
        return not self.appended or self.appended[-1].seq <= seq

    def continues(self, seq: int) -> bool:
        """Whether the news are what comes after the entry `seq`, none less and none more."""
        return not self.appended or self.appended[0].seq == seq + 1

    def in_stream(self, after: int) -> bytes:
        """The entries behind `after`."""
        if self.continues(after):
            return self._in_stream
        return b"".join(one.in_stream for one in self.appended if one.seq > after)

    @cached_property
    def _in_stream(self) -> bytes:
        return b"".join(one.in_stream for one in self.appended)

    @property
    def last_seq(self) -> int:
        """0 without entries."""
        return self.appended[-1].seq if self.appended else 0


class Guest(NamedTuple):
    """Whose a page or an event stream is, and the language of the page."""

    user: Any
    language: str


class Member(Protocol):
    """Somebody in the room; every method returns at once."""

    guest: Guest
    has_page: bool
    is_new: bool

    def hear(self, event: Event) -> None: ...

    def learn(self, news: News, viewer: Viewer) -> bool:
        """False if they are not what comes next: then it leaves, to come back."""

    def leave_behind(self) -> None:
        """Has missed something: it leaves, catches up from the record, and comes back."""

    def end(self, reason: Exception) -> None: ...


DELTA_SECONDS = 1 / 30  # between two messages with text
Delta = dict[str, Any]


class Coalescer:
    """Lives on the event loop. `tell` gets one delta for each stream and kind, in the order in which they began."""

    def __init__(self, tell: Callable[[Delta], None]) -> None:
        self._tell = tell
        self._pending: dict[tuple[str, str], Delta] = {}
        self._due: asyncio.TimerHandle | None = None
        self._flushed = 0.0

    def take(self, delta: Delta) -> None:
        """Tells it at once, unless something was told a moment ago."""
        key = (delta["stream"], delta["kind"])
        if before := self._pending.get(key):
            delta = before | {"text": before["text"] + delta["text"]}
        self._pending[key] = delta
        if self._due is None:
            loop, due = asyncio.get_running_loop(), self._flushed + DELTA_SECONDS
            if loop.time() < due:
                self._due = loop.call_at(due, self.flush)
            else:
                self.flush()

    def flush(self) -> None:
        """Tells what waits."""
        self.close()
        pending, self._pending = self._pending, {}
        self._flushed = asyncio.get_running_loop().time()
        for delta in pending.values():
            self._tell(delta)

    def close(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
