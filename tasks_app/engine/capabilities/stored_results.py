"""Earlier results, for a model that sees only a line of them."""

from functools import partial

from llm_app.call.llm_call import Runner
from tasks_app.models import ContextEntry
from tasks_app.run.context import TaskContext
from tasks_app.runtime import threads
from tools_app.errors import NothingStored


class StoredResults:
    """`capabilities.StoredResult`: what the record has under a number, redacted as of now."""

    def __init__(self, context: TaskContext) -> None:
        self._session, self._redactor = context.session, context.secrets.redactor

    async def __call__(self, number: int) -> str:
        return self._redactor.redacted(await threads.in_thread(partial(self._read, number)))

    def _read(self, number: int, run: Runner) -> str:
        entries = ContextEntry.objects.of(self._session).in_context()
        if (entry := entries.filter(seq=number).first()) is None:
            raise NothingStored()
        if call := entry.call:
            result = entries.filter(seq__gt=number).first()
            return f"{call['name']}({call['arguments']})\n{result.content if result else ''}"
        return entry.content
