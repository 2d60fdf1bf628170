"""A stream of text to the browser: a reply of the LLM, or the output of a tool. Redacted, batched, and in no table."""

from collections import defaultdict, deque
from contextlib import suppress
from secrets import token_hex
from uuid import UUID

from llm_app.redaction import Redactor, StreamRedactor
from tasks_app.models import Task
from tasks_app.runtime import broadcast, event_loop, stream_buffer
from tasks_app.runtime.pump import pump
from tasks_app.runtime.stream_buffer import Chunk

MOST_CHARACTERS = 200_000  # of one kind; nobody reads more while it runs
_OMITTED = "\n[… what follows is not shown while it runs …]\n"


class LiveStream:
    """One stream. `feed` is called by one thread, a call's or the event loop's; other methods from any thread.

    Batches are redacted before they are sent. Text that could be the beginning of a secret is held back.
    """

    def __init__(self, group: str, task_id: UUID, redactor: Redactor) -> None:
        self.id = token_hex(16)
        self.group, self.task_id, self._redactor = group, task_id, redactor
        self._redactors: dict[str, StreamRedactor] = defaultdict(lambda: StreamRedactor(redactor))
        self._texts: dict[str, list[str]] = defaultdict(list)  # not redacted
        self._pending = deque[tuple[str, str]]()
        self._sent: dict[str, int] = defaultdict(int)
        self.is_queued = False  # whether the pump has it in its queue

    def feed(self, kind: str, text: str) -> None:
        self._texts[kind].append(text)
        self._pending.append((kind, text))
        if not self.is_queued:
            pump.enqueue(self)

    @property
    def has_begun(self) -> bool:
        return bool(self._texts)

    def text(self, kind: str) -> str:
        """Return all redacted text, for the record of an interrupted stream."""
        return StreamRedactor(self._redactor).feed("".join(self._texts[kind]))

    def withdraw(self) -> None:
        """Remove the shown text from pages."""
        self._pending.clear()
        if self.has_begun:
            event_loop.submit(broadcast.send(self.group, {"type": "reset", "stream": self.id}))

    async def send_batch(self) -> None:
        """Send all pending text. Text that arrives during the call is either sent too or pending again."""
        self.is_queued = False
        batch: dict[str, list[str]] = defaultdict(list)
        with suppress(IndexError):  # the queue is empty, perhaps because the stream was just withdrawn
            while True:
                kind, text = self._pending.popleft()
                batch[kind].append(text)
        for kind, texts in batch.items():
            await self._send(kind, self._redactors[kind].feed("".join(texts)))

    async def _send(self, kind: str, text: str) -> None:
        remaining = MOST_CHARACTERS - self._sent[kind]
        if not text or remaining <= 0:
            return
        text = text if len(text) <= remaining else f"{text[:remaining]}{_OMITTED}"
        chunk = Chunk(stream=self.id, kind=kind, offset=self._sent[kind], text=text)
        continues = any(self._sent.values())
        self._sent[kind] += len(text)
        await stream_buffer.store.add(self.task_id, chunk, continues=continues)
        await broadcast.send(self.group, chunk.event(self.task_id))


async def withdraw_streams(task: Task) -> None:
    """Remove the unfinished streams of a task whose process has died."""
    for stream in {chunk.stream for chunk in await stream_buffer.store.chunks_of(task.id)}:
        await broadcast.send(task.session.group, {"type": "reset", "stream": stream})
    await stream_buffer.store.drop(task.id)
