"""The reports of `run_agent`: plain text for people, JSON lines for programs."""

import json
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from tasks_app.models import ContextEntry, ContextType, Task, TaskState
from tasks_app.record.entry_json import entry_json, plan_event
from tasks_app.record.item import Item
from tasks_app.tracing.events import as_lines, events_of

Say = Callable[[str], object]
_REPLIES = (ContextType.TOOL_CALL, ContextType.AI_MESSAGE, ContextType.NO_TOOL_CALL_RETRY)


class Report(Protocol):
    def started(self, task: Task) -> None: ...

    def entry(self, entry: ContextEntry) -> None: ...

    def ended(self, task: Task) -> None: ...


class TextReport:
    """A report with a line for each action, and the text that is meant for the user."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._text_before_result = ""

    def started(self, task: Task) -> None:
        pass

    def entry(self, entry: ContextEntry) -> None:
        if entry.context_type == ContextType.AI_MESSAGE and entry.call:
            self._print_message(Item(entry=entry))
        elif entry.context_type == ContextType.TOOL_CALL and entry.call:
            if text := Item(entry=entry).words:
                self._say(text)
            self._say(f"· {entry.call['name']} {_short(entry.call['arguments'])}")
        elif entry.context_type == ContextType.TOOL_RESULT and entry.metadata.get("status") != "succeeded":
            self._say(f"  {entry.metadata.get('status')}: {_short(entry.content)}")
        elif entry.context_type == ContextType.STATUS_NOTICE:
            self._say(f"! {entry.content}")

    def _print_message(self, message: Item) -> None:
        """Print a message. A result and the words with it are held back until the end, as it may still be refused."""
        if message.kind == "result":
            self._text_before_result = message.words
        elif text := "\n\n".join(filter(None, [message.words, message.text])):
            self._say(text)

    def ended(self, task: Task) -> None:
        if task.final_result:
            self._say("\n\n".join(filter(None, [self._text_before_result, task.final_result["text"]])))
            if task.output_schema:
                self._say(json.dumps(task.final_result["data"], ensure_ascii=False, indent=2))


class JsonLinesReport:
    """A report of one JSON object per line.

    An item is an entry, as in the REST API. An iteration is a reply of the model with the calls that it ran.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._task = ""

    def started(self, task: Task) -> None:
        self._task = str(task.id)
        self._print_event("task.started")

    def entry(self, entry: ContextEntry) -> None:
        item = entry_json(entry)
        is_reply = entry.in_context and entry.context_type in _REPLIES
        if is_reply:
            self._print_event("iteration.started")
        if entry.call:
            self._print_event("item.started", item=item)
            return
        self._print_event("item.completed", item=item)
        if plan := plan_event(entry):
            self._print_event("plan", **plan)
        if is_reply or entry.context_type == ContextType.TOOL_RESULT:
            self._print_event("iteration.completed")

    def ended(self, task: Task) -> None:
        cost = None if task.cost_usd is None else str(task.cost_usd)
        fields: dict[str, Any] = {"usage": task.usage, "cost_usd": cost, "iteration": task.iteration}
        if task.state == TaskState.DONE:
            self._print_event("task.completed", final_result=task.final_result, **fields)
        else:
            failure = {"code": task.failure_code, "detail": task.failure_detail}
            self._print_event("task.failed", failure=failure, **fields)

    def _print_event(self, kind: str, **fields: Any) -> None:
        self._say(json.dumps({"type": kind, "task": self._task, **fields}, ensure_ascii=False))


class TracedReport:
    """A report that also writes the events of the run to a file, as trace sinks receive them."""

    def __init__(self, report: Report, file: BinaryIO) -> None:
        self._report, self._file = report, file

    def started(self, task: Task) -> None:
        self._report.started(task)

    def entry(self, entry: ContextEntry) -> None:
        self._file.write(as_lines(events_of([entry])))
        self._file.flush()
        self._report.entry(entry)

    def ended(self, task: Task) -> None:
        self._file.close()
        self._report.ended(task)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"
