"""What the memory tool needs to know of stored notes."""

from collections.abc import Sequence
from functools import partial

from llm_app.call.llm_call import Runner
from tasks_app.memory import search
from tasks_app.models import MemoryNote
from tasks_app.models.memory_note import MemoryNoteQuerySet
from tasks_app.run.context import TaskContext
from tasks_app.runtime import threads
from tools_app.errors import ToolError
from tools_app.notes import Note

SHOWN = 8
_SHARED = "Others read along in this session: notes of one person are neither written nor forgotten here."


class StoredMemory:
    """`capabilities.Memory` for one task."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    async def search(self, question: str) -> Sequence[Note]:
        return await threads.in_thread(lambda run: search.search(self._context, question, SHOWN, run))

    async def own(self, named: str) -> Note:
        return await threads.in_thread(partial(self._own, named))

    async def takes(self, text: str) -> bool:
        return await threads.in_thread(partial(self._takes, text))

    def _own(self, named: str, run: Runner) -> Note:
        notes = self._notes()
        number = named.strip().lstrip("#")
        same = notes.filter(pk=number) if number.isdecimal() and len(number) < 19 else notes.filter(text=named)
        candidates = [search.as_read(row) for row in same] or search.nearest_by_words(notes, named, SHOWN)
        if not candidates:
            raise ToolError("No note of the person is like that. Search for it.")
        if len(candidates) > 1:
            raise ToolError("Several notes are like that. Name the number of one: " + "; ".join(map(str, candidates)))
        return candidates[0]

    def _takes(self, text: str, run: Runner) -> bool:
        notes = self._notes()
        if notes.count() >= MemoryNote.MOST:
            raise ToolError(f"The memory is full ({MemoryNote.MOST:,} notes). Forget what is no longer true first.")
        return not notes.filter(text=self._context.secrets.redactor.redacted(text).strip()).exists()

    def _notes(self) -> MemoryNoteQuerySet:
        if search.is_shared(self._context):
            raise ToolError(_SHARED)
        return MemoryNote.objects.of_user(self._context.task.started_by)
