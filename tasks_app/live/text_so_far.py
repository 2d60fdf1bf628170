"""The text that streams in a session at this moment, as those who follow it have it."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from tasks_app.events import stream_buffer

Delta = dict[str, Any]
_REMEMBERED = 200  # streams that have ended: later pieces of them are not told


class TextSoFar:
    """Knows how far each stream was told, so that nothing is told twice; who comes later gets all of it.

    `ended` is called with each stream that has ended.
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
        """The text is in an entry by now, or taken back."""
        if not stream:
            return
        self._ended.append(stream)
        self._tell_end(stream)
        if self._tasks.pop(stream, None):
            for key in [key for key in self._seen if key[0] == stream]:
                del self._seen[key], self._texts[key]

    def lacks_what_precedes(self, event: Delta) -> bool:
        """Whether text before that of the delta was lost: then `stored` has it."""
        is_due = event["offset"] > self._seen.get((event["stream"], event["kind"]), 0)
        return is_due and event["stream"] not in self._ended

    async def stored(self, task: str) -> list[Delta]:
        """What the task's newest stream has more than was told."""
        task_id = UUID(task)
        pieces = [piece.event(task_id) for piece in await stream_buffer.store.chunks_of(task_id)]
        return [part for piece in pieces for part in self.unseen(piece)]

    def unseen(self, event: Delta) -> Iterator[Delta]:
        """The part of a delta that is new, if there is one."""
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
        """From offset 0, one event for each kind of each stream."""
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
