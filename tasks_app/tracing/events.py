"""Events: the outside form of entries, with ids that never change.

Reading an entry again gives the same events, so receivers can drop duplicates by id.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Min

from llm_app.models import LLMCallStatus, LLMLog
from llm_app.types import Purpose
from tasks_app.models import ContextEntry, ContextType, EventType, Session, Task, TaskState, ToolCallLog
from tasks_app.record import call_json, redact_entry, redactor_of
from tasks_app.record.entry_json import plan_event

Event = dict[str, Any]
EventPart = tuple[EventType, dict[str, Any]]
_AGENT_PREFIX = "ask_"  # prefix of agents that are called as tools


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Data about the tasks of some entries: first entry, tool calls, and LLM calls by task."""

    beginnings: dict[UUID, int]
    calls: dict[tuple[UUID, str], ToolCallLog]
    requests: Mapping[UUID, Sequence[LLMLog]]

    @classmethod
    def about(cls, entries: Sequence[ContextEntry]) -> "Facts":
        tasks = {entry.task_id for entry in entries}
        first = ContextEntry.objects.filter(task__in=tasks).order_by().values_list("task").annotate(Min("seq"))
        results = [entry for entry in entries if entry.tool_call_id]
        logs = ToolCallLog.objects.filter(
            session_id__in={entry.session_id for entry in results},
            call_id__in=[entry.tool_call_id for entry in results],
        )
        return cls(
            beginnings=dict(first),
            calls={(log.session_id, log.call_id): log for log in logs},
            requests=_llm_calls(entries),
        )

    def calls_reported_with(self, entry: ContextEntry) -> list[LLMLog]:
        """Return the LLM calls to report with an entry, so that each is reported exactly once.

        A reply reports its attempts, and other calls since the preceding reply. The end of a task reports the
        remaining calls.
        """
        logs = self.requests.get(entry.task_id, ())
        if entry.context_type != ContextType.STATUS_NOTICE and (llm_call := entry.metadata.get("llm_call")):
            iteration = next((log.iteration for log in logs if str(log.pk) == llm_call), 0)
            return [log for log in logs if _reported_iteration(log) == iteration]
        if _ends_task(entry, self.calls.get((entry.session_id, entry.tool_call_id))):
            return [log for log in logs if _reported_iteration(log) > entry.task.iteration]
        return []


def _llm_calls(entries: Sequence[ContextEntry]) -> Mapping[UUID, Sequence[LLMLog]]:
    """Return the LLM calls of the entries' tasks, in order of their ends, without those older than the first reply."""
    replies = {UUID(str(name)) for entry in entries if (name := entry.metadata.get("llm_call"))}
    ended = [entry.task.iteration for entry in entries]
    oldest = min([*LLMLog.objects.filter(pk__in=replies).values_list("iteration", flat=True), *ended], default=0)
    logs = LLMLog.objects.filter(task_id__in={entry.task_id for entry in entries}, iteration__gte=oldest - 1)
    calls_by_task: defaultdict[UUID, list[LLMLog]] = defaultdict(list)
    for log in logs.order_by("created_at"):
        if log.task_id:
            calls_by_task[log.task_id].append(log)
    return {**calls_by_task}


def _reported_iteration(log: LLMLog) -> int:
    """Return the iteration whose reply reports the call. Calls by a tool are reported with the next reply."""
    return log.iteration if log.purpose == Purpose.STEP else log.iteration + 1


def events_of(entries: Sequence[ContextEntry]) -> Iterator[Event]:
    """Yield redacted events in the order of the record. Tasks copied by a fork have none.

    The entries must be joined with their sessions, tasks and the people who started these.
    """
    facts = Facts.about(entries)
    for _, members in groupby(entries, key=lambda entry: entry.session_id):
        original_entries = [entry for entry in members if not _is_copy(entry.session, facts.beginnings[entry.task_id])]
        if original_entries:
            redactor = redactor_of(original_entries[0].session)
            for entry in original_entries:
                yield from map(redactor.redacted_json, _events(redact_entry(entry, redactor), facts))


def _is_copy(session: Session, first_seq: int) -> bool:
    return session.parent_seq is not None and first_seq <= session.parent_seq


def _events(entry: ContextEntry, facts: Facts) -> Iterator[Event]:
    for kind, data in _parts(entry, facts):
        request = data.get("llm_call", "")  # an entry may report several calls
        suffix = f"-{request}" if request != entry.metadata.get("llm_call", "") else ""
        yield {
            "id": f"{entry.session_id}-{entry.seq}-{kind.value}{suffix if request else ''}",
            "type": kind.value,
            "session": str(entry.session_id),
            "task": str(entry.task_id),
            "seq": entry.seq,
            "at": _time(entry.created_at),
            "data": data,
        }


def _parts(entry: ContextEntry, facts: Facts) -> Iterator[EventPart]:
    task, log = entry.task, facts.calls.get((entry.session_id, entry.tool_call_id))
    if entry.seq == facts.beginnings[entry.task_id]:
        yield EventType.TASK_STARTED, _start(task)
    for request in facts.calls_reported_with(entry):
        yield _call_event(request)
    if entry.context_type == ContextType.NO_TOOL_CALL_RETRY and "error_type" in entry.metadata:
        data = {"llm_call": entry.metadata["llm_call"], "error_type": entry.metadata["error_type"]}
        yield EventType.ATTEMPT_FAILED, {**data, "text": entry.content}
    if call := call_json(entry):
        yield EventType.TOOL_CALL, {**call, "words": entry.content}
        if call["name"] == "delegate" or call["name"].startswith(_AGENT_PREFIX):
            yield EventType.DELEGATE, {"call": call["id"], "to": call["arguments"]}
    if log is not None:
        yield EventType.TOOL_RESULT, _result(entry, log)
    if plan := plan_event(entry):
        yield EventType.PLAN, plan
    if entry.metadata.get("kind") in ("summary", "cut"):
        author = "model" if entry.metadata["kind"] == "summary" else "outline"
        yield EventType.SUMMARIZATION, {"by": author, "text": entry.content}
    if entry.context_type == EventType.HANDOFF:
        yield EventType.HANDOFF, {"text": entry.content, **entry.metadata}
    yield from _ending(entry, log)


def _ending(entry: ContextEntry, log: ToolCallLog | None) -> Iterator[EventPart]:
    if failure := _failure(entry):
        yield EventType.TASK_ENDED, _end(entry, TaskState.FAILED) | {"code": failure, "detail": entry.content}
    elif _ends_task(entry, log):
        yield EventType.FINAL_ANSWER, entry.task.final_result or {}
        yield EventType.TASK_ENDED, _end(entry, TaskState.DONE)


def _ends_task(entry: ContextEntry, log: ToolCallLog | None) -> bool:
    """Return whether the entry is an accepted final result or the notice of a failure."""
    is_accepted = log is not None and is_final_result(log) and entry.metadata.get("status") == "succeeded"
    return is_accepted or bool(_failure(entry))


def _failure(entry: ContextEntry) -> str:
    return str(entry.metadata.get("code", "")) if entry.context_type == ContextType.STATUS_NOTICE else ""


def is_final_result(log: ToolCallLog) -> bool:
    """Return whether the call is a `message` of type result."""
    return log.name == "message" and bool(log.arguments) and orjson.loads(log.arguments).get("type") == "result"


def _start(task: Task) -> dict[str, Any]:
    """Return data of a task's start. A delegated task has `parent` (task) and `parent_call`."""
    session, call = task.session, task.parent_call
    return {
        "parent": str(call.task_id) if call else None,
        "parent_call": call.call_id if call else None,
        "title": session.title,
        "person": task.started_by.get_username(),
        "agent": session.agent.name if session.agent else None,
        "model": session.model.name if session.model else None,
        "workflow": task.workflow.get("name"),
    }


def _end(entry: ContextEntry, state: TaskState) -> dict[str, Any]:
    """Return data of a task's end. `took_ms` includes the time that it waited for people."""
    task = entry.task
    return {
        "state": state.value,
        "started_at": _time(task.created_at),
        "took_ms": round((entry.created_at - task.created_at).total_seconds() * 1000),
        "iterations": task.iteration,
        "usage": task.usage,
        "cost_usd": None if task.cost_usd is None else str(task.cost_usd),
    }


def _call_event(request: LLMLog) -> EventPart:
    if request.status != LLMCallStatus.FAILED:
        return EventType.METADATA, _call_data(request)
    return EventType.ATTEMPT_FAILED, {
        **_call_data(request),
        "attempt": request.attempt,
        "error_type": request.error_type,
        "error": request.error,
    }


def _call_data(request: LLMLog) -> dict[str, Any]:
    return {
        "llm_call": str(request.pk),
        "purpose": request.purpose,
        "iteration": request.iteration,
        "model": request.model,
        "provider": request.provider,
        "provider_model": request.provider_model,
        "status": request.status,
        "finish_reason": request.finish_reason,
        "input_tokens": request.input_tokens,
        "cached_tokens": request.cached_tokens,
        "output_tokens": request.output_tokens,
        "cost_usd": None if request.cost_usd is None else str(request.cost_usd),
        "took_ms": request.duration_ms,
    }


def _result(entry: ContextEntry, log: ToolCallLog) -> dict[str, Any]:
    return {
        "id": log.call_id,
        "name": log.name,
        "status": entry.metadata.get("status", ""),
        "danger": log.danger,
        "took_ms": log.duration_ms,
        "content": entry.content,
        "checks": log.remarks,
    } | ({"children": entry.metadata["children"]} if "children" in entry.metadata else {})


def _time(time: Any) -> str:
    return str(time.isoformat().replace("+00:00", "Z"))


def as_lines(events: Iterable[Event]) -> bytes:
    """Return events as JSON lines."""
    return b"".join(orjson.dumps(event) + b"\n" for event in events)
