"""The texts that stream in a session now, and their Markdown as HTML for its pages."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.urls import reverse

from tasks_app.hub.updates import Delta, Event
from tasks_app.pages.markdown.stream import MarkdownChange, StreamedMarkdown
from tasks_app.runtime import stream_buffer

if TYPE_CHECKING:
    from tasks_app.hub.subscriber import Subscriber

logger = logging.getLogger(__name__)
KINDS = ("text", "words")  # kinds of text that are Markdown. Other kinds are sent as plain text
Key = tuple[str, str]
_thread = ThreadPoolExecutor(1, thread_name_prefix="markdown")


class MarkdownStreams:
    """The streaming Markdown of a session, rendered for its pages.

    Used on the event loop. One thread renders for all sessions, so a busy process renders less often.
    """

    def __init__(self, session_id: UUID, subscribers: "Mapping[Subscriber[Any], None]") -> None:
        self._files_url = reverse("upload", args=[session_id])
        self._subscribers = subscribers
        self._texts: dict[Key, StreamedMarkdown] = {}
        self._new_text: dict[Key, list[str]] = {}
        self._new_pages: list[Subscriber[Any]] = []
        self._rendering: asyncio.Task[None] | None = None

    def add(self, delta: Delta) -> None:
        if delta["kind"] in KINDS:
            self._new_text.setdefault((delta["stream"], delta["kind"]), []).append(delta["text"])
            self._start_rendering()

    def send_whole(self, subscriber: "Subscriber[Any]") -> None:
        """Send a new page each text from its beginning."""
        if subscriber.needs_html:
            self._new_pages.append(subscriber)
            self._start_rendering()

    def end(self, stream: str) -> None:
        for texts in (self._new_text, self._texts):
            for key in [key for key in texts if key[0] == stream]:
                del texts[key]

    async def close(self) -> None:
        if self._rendering is not None:
            self._rendering.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._rendering

    def _start_rendering(self) -> None:
        has_pages = any(subscriber.needs_html for subscriber in self._subscribers)
        if has_pages and (self._rendering is None or self._rendering.done()):
            unrendered = self._send_plain_text()
            if unrendered or self._new_pages:
                self._rendering = asyncio.create_task(self._render(unrendered))

    def _send_plain_text(self) -> list[Key]:
        """Send the text that needs no parser, and return the keys of the texts that need one."""
        new_text, self._new_text = self._new_text, {}
        unrendered = []
        for key, texts in new_text.items():
            if key not in self._texts:
                self._texts[key] = StreamedMarkdown(self._files_url)
            change = self._texts[key].add("".join(texts))
            if change is None:
                unrendered.append(key)
            else:
                self._send(key, change)
        return unrendered

    async def _render(self, unrendered: list[Key]) -> None:
        while unrendered or self._new_pages:
            for key in unrendered:
                await self._render_one(key)
            new_pages, self._new_pages = self._new_pages, []
            for subscriber in new_pages:
                for key, text in self._texts.items():
                    subscriber.receive(_event(key, text.whole, is_whole=True))
            unrendered = self._send_plain_text()

    async def _render_one(self, key: Key) -> None:
        text = self._texts.get(key)
        if text is None:
            return
        try:
            change = await asyncio.get_running_loop().run_in_executor(_thread, text.render)
        except Exception:
            logger.exception("could not render streaming text (its entry will be rendered)")
            return
        if self._texts.get(key) is text:  # not withdrawn while it was rendered
            self._send(key, change)

    def _send(self, key: Key, change: MarkdownChange) -> None:
        if change:
            event = _event(key, change, is_whole=False)
            for subscriber in list(self._subscribers):  # a subscriber may leave in the loop
                if subscriber.needs_html and not subscriber.is_new:
                    subscriber.receive(event)


def _event(key: Key, change: MarkdownChange, *, is_whole: bool) -> Event:
    stream, kind = key
    html = {"closed": change.closed, "open": change.open, "tail": change.tail}
    return Event({"type": "prose", "stream": stream, "kind": kind, "whole": is_whole, **html})


_MAX_ENDED = 200  # ended streams whose late deltas are dropped


class OpenStreams:
    """The open streams: their text, and how much of each was sent.

    `on_end` is called with the id of each stream that has ended.
    """

    def __init__(self, on_end: Callable[[str], None]) -> None:
        self._on_end = on_end
        self._texts: dict[Key, list[str]] = {}
        self._sent: dict[Key, int] = {}  # characters
        self._tasks: dict[str, str] = {}  # task id by stream
        self._ended: deque[str] = deque(maxlen=_MAX_ENDED)

    def is_known(self, stream: str) -> bool:
        return stream in self._tasks or stream in self._ended

    def end(self, stream: str) -> None:
        """Forget a stream: its text is in an entry now, or was withdrawn."""
        if not stream:
            return
        self._ended.append(stream)
        self._on_end(stream)
        if self._tasks.pop(stream, None):
            for key in [key for key in self._sent if key[0] == stream]:
                del self._sent[key], self._texts[key]

    def has_gap_before(self, delta: Delta) -> bool:
        """Return whether text before this delta was lost. `unsent_stored` returns the lost text."""
        has_gap = delta["offset"] > self._sent.get((delta["stream"], delta["kind"]), 0)
        return has_gap and delta["stream"] not in self._ended

    async def unsent_stored(self, task: str) -> list[Delta]:
        """Return the deltas of the task's newest stream that were not sent yet, from the buffer."""
        task_id = UUID(task)
        chunks = await stream_buffer.store.chunks_of(task_id)
        return [delta for chunk in chunks for delta in self.unsent(chunk.event(task_id))]

    def unsent(self, delta: Delta) -> Iterator[Delta]:
        """Yield the part of a delta that was not sent yet, and count it as sent."""
        stream, key = delta["stream"], (delta["stream"], delta["kind"])
        sent, offset = self._sent.get(key, 0), delta["offset"]
        end = offset + len(delta["text"])
        if stream in self._ended or end <= sent:
            return
        text = delta["text"][max(sent - offset, 0) :]
        self._tasks[stream] = delta["task"]
        self._sent[key] = end
        self._texts.setdefault(key, []).append(text)
        yield delta | {"offset": max(sent, offset), "text": text}

    def whole_texts(self) -> list[Delta]:
        """Return the text of all open streams, as one delta for each stream and kind."""
        texts = {key: "".join(parts) for key, parts in self._texts.items()}
        return [
            {"type": "delta", "task": self._tasks[stream], "stream": stream, "kind": kind, "text": text, "offset": 0}
            for (stream, kind), text in texts.items()
        ]
