"""Updates of a session, encoded once for all subscribers: HTML for pages, server-sent events for programs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from tasks_app.models import ContextEntry
from tasks_app.pages.fragments import Viewer
from tasks_app.record.entry_json import entry_json, plan_event


class Event:
    """An event with its encodings: a text delta, a reset, a task state, …"""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    @cached_property
    def as_json(self) -> str:
        return orjson.dumps(self.content).decode()

    @cached_property
    def as_sse(self) -> bytes:
        data = {name: value for name, value in self.content.items() if name != "type"}
        return b"event: %s\ndata: %s\n\n" % (self.content["type"].encode(), orjson.dumps(data))


class AppendedEntry:
    """A redacted entry with its encoding."""

    def __init__(self, entry: ContextEntry) -> None:
        self.entry, self.seq = entry, entry.seq

    @cached_property
    def as_sse(self) -> bytes:
        message = b"id: %d\nevent: entry\ndata: %s\n\n" % (self.seq, orjson.dumps(entry_json(self.entry)))
        plan = plan_event(self.entry)
        return message + b"event: plan\ndata: %s\n\n" % orjson.dumps(plan) if plan else message


@dataclass(frozen=True, kw_only=True, eq=False)
class Update:
    """The result of one refresh.

    `items` is the HTML of the new entries by viewer. `whole` is the HTML of all other fragments of the page, and
    `changed` is the HTML of the fragments that changed since the last refresh. `state` is the state of the newest task.
    """

    appended: Sequence[AppendedEntry] = ()
    state: Event | None = None
    items: Mapping[Viewer, str] = field(default_factory=dict)
    whole: Mapping[Viewer, str] = field(default_factory=dict)
    changed: Mapping[Viewer, str] = field(default_factory=dict)

    def has_nothing_after(self, seq: int) -> bool:
        return not self.appended or self.appended[-1].seq <= seq

    def continues(self, seq: int) -> bool:
        """Return whether this update begins with the entry after `seq`."""
        return not self.appended or self.appended[0].seq == seq + 1

    def as_sse(self, after: int) -> bytes:
        """Return the entries after `after` as server-sent events."""
        if self.continues(after):
            return self._all_as_sse
        return b"".join(appended.as_sse for appended in self.appended if appended.seq > after)

    @cached_property
    def _all_as_sse(self) -> bytes:
        return b"".join(appended.as_sse for appended in self.appended)

    @property
    def last_seq(self) -> int:
        """Return the number of the newest entry, 0 without entries."""
        return self.appended[-1].seq if self.appended else 0


class SubscriberIdentity(NamedTuple):
    """The user of a page or an event stream, and the language of the page."""

    user: Any
    language: str


DELTA_SECONDS = 1 / 30  # between two messages with text
Delta = dict[str, Any]


class DeltaBatcher:
    """Text deltas joined by stream and kind, sent at most once in `DELTA_SECONDS` in the order in which they began.

    Used on the event loop only.
    """

    def __init__(self, send: Callable[[Delta], None]) -> None:
        self._send = send
        self._pending: dict[tuple[str, str], Delta] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._flushed_at = 0.0

    def add(self, delta: Delta) -> None:
        """Send the delta now, or with the next batch if one was sent less than `DELTA_SECONDS` ago."""
        key = (delta["stream"], delta["kind"])
        if previous := self._pending.get(key):
            delta = previous | {"text": previous["text"] + delta["text"]}
        self._pending[key] = delta
        if self._timer is None:
            loop, due_at = asyncio.get_running_loop(), self._flushed_at + DELTA_SECONDS
            if loop.time() < due_at:
                self._timer = loop.call_at(due_at, self.flush)
            else:
                self.flush()

    def flush(self) -> None:
        """Send the waiting deltas."""
        self.close()
        pending, self._pending = self._pending, {}
        self._flushed_at = asyncio.get_running_loop().time()
        for delta in pending.values():
            self._send(delta)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
