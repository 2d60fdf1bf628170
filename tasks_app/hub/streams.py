"""The texts that stream in a session now, and their Markdown as HTML for its pages."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.urls import reverse

from tasks_app.hub.updates import Event, Member
from tasks_app.pages.markdown.stream import Change, StreamedMarkdown
from tasks_app.runtime import stream_buffer

logger = logging.getLogger(__name__)
KINDS = ("text", "words")  # kinds of text that are Markdown. Other kinds are sent as plain text
Key = tuple[str, str]
_thread = ThreadPoolExecutor(1, thread_name_prefix="markdown")


class Prose:
    """The streaming Markdown of a session, rendered for its pages.

    Used on the event loop. One thread renders for all sessions, so a busy process renders less often.
    """

    def __init__(self, session_id: UUID, members: Mapping[Member, None]) -> None:
        self._files_url = reverse("upload", args=[session_id])
        self._members = members
        self._shown: dict[Key, StreamedMarkdown] = {}
        self._fresh: dict[Key, list[str]] = {}
        self._newcomers: list[Member] = []
        self._work: asyncio.Task[None] | None = None

    def take(self, delta: Mapping[str, Any]) -> None:
        if delta["kind"] in KINDS:
            self._fresh.setdefault((delta["stream"], delta["kind"]), []).append(delta["text"])
            self._go_on()

    def tell_all(self, member: Member) -> None:
        """Send a new page each text from its beginning."""
        if member.has_page:
            self._newcomers.append(member)
            self._go_on()

    def end(self, stream: str) -> None:
        for texts in (self._fresh, self._shown):
            for key in [key for key in texts if key[0] == stream]:
                del texts[key]

    async def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._work

    def _go_on(self) -> None:
        is_seen = any(member.has_page for member in self._members)
        if is_seen and (self._work is None or self._work.done()):
            due = self._told_at_once()
            if due or self._newcomers:
                self._work = asyncio.create_task(self._render(due))

    def _told_at_once(self) -> list[Key]:
        """Send the text that needs no parser, and return the keys of the texts that need one."""
        fresh, self._fresh = self._fresh, {}
        due = []
        for key, texts in fresh.items():
            if key not in self._shown:
                self._shown[key] = StreamedMarkdown(self._files_url)
            change = self._shown[key].add("".join(texts))
            if change is None:
                due.append(key)
            else:
                self._tell(key, change)
        return due

    async def _render(self, due: list[Key]) -> None:
        while due or self._newcomers:
            for key in due:
                await self._render_one(key)
            newcomers, self._newcomers = self._newcomers, []
            for member in newcomers:
                for key, shown in self._shown.items():
                    member.hear(_event(key, shown.whole, is_whole=True))
            due = self._told_at_once()

    async def _render_one(self, key: Key) -> None:
        if (shown := self._shown.get(key)) is None:
            return
        try:
            change = await asyncio.get_running_loop().run_in_executor(_thread, shown.rendered)
        except Exception:
            logger.exception("a running text was not rendered; its entry will be")
            return
        if self._shown.get(key) is shown:  # not withdrawn while it was rendered
            self._tell(key, change)

    def _tell(self, key: Key, change: Change) -> None:
        if change:
            event = _event(key, change, is_whole=False)
            for member in list(self._members):  # a subscriber may leave in the loop
                if member.has_page and not member.is_new:
                    member.hear(event)


def _event(key: Key, change: Change, *, is_whole: bool) -> Event:
    stream, kind = key
    html = {"closed": change.closed, "open": change.open, "tail": change.tail}
    return Event({"type": "prose", "stream": stream, "kind": kind, "whole": is_whole, **html})


Delta = dict[str, Any]
_REMEMBERED = 200  # ended streams whose late deltas are dropped


class TextSoFar:
    """The open streams: their text, and how much of each was sent.

    `ended` is called with the id of each stream that has ended.
    """

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._tell_end = ended
        self._texts: dict[tuple[str, str], list[str]] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._tasks: dict[str, str] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)

    def knows(self, stream: str) -> bool:
        return stream in self._tasks or stream in self._ended

    def end(self, stream: str) -> None:
        """Forget a stream: its text is in an entry now, or was withdrawn."""
        if not stream:
            return
        self._ended.append(stream)
        self._tell_end(stream)
        if self._tasks.pop(stream, None):
            for key in [key for key in self._seen if key[0] == stream]:
                del self._seen[key], self._texts[key]

    def lacks_what_precedes(self, event: Delta) -> bool:
        """Return whether text before this delta was lost. `stored` returns the lost text."""
        is_due = event["offset"] > self._seen.get((event["stream"], event["kind"]), 0)
        return is_due and event["stream"] not in self._ended

    async def stored(self, task: str) -> list[Delta]:
        """Return the deltas of the task's newest stream that were not sent yet, from the buffer."""
        task_id = UUID(task)
        pieces = [piece.event(task_id) for piece in await stream_buffer.store.chunks_of(task_id)]
        return [part for piece in pieces for part in self.unseen(piece)]

    def unseen(self, event: Delta) -> Iterator[Delta]:
        """Yield the part of a delta that was not sent yet, and count it as sent."""
        stream, key = event["stream"], (event["stream"], event["kind"])
        seen, offset = self._seen.get(key, 0), event["offset"]
        end = offset + len(event["text"])
        if stream in self._ended or end <= seen:
            return
        text = event["text"][max(seen - offset, 0) :]
        self._tasks[stream] = event["task"]
        self._seen[key] = end
        self._texts.setdefault(key, []).append(text)
        yield event | {"offset": max(seen, offset), "text": text}

    def so_far(self) -> list[Delta]:
        """Return the text of all open streams, as one delta for each stream and kind."""
        return [
            {
                "type": "delta",
                "task": self._tasks[stream],
                "stream": stream,
                "kind": kind,
                "text": "".join(texts),
                "offset": 0,
            }
            for (stream, kind), texts in self._texts.items()
        ]
