"""OpenTelemetry spans of finished work, by the conventions for generative AI, in the JSON form of OTLP.

Span ids are computed from row ids, so a span that is sent twice stays one span.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from llm_app.models import LLMCallStatus, LLMLog
from tasks_app.models import CallStatus, EventType, Task, ToolCallLog
from tasks_app.record import redactor_of
from tasks_app.tracing.events import Event

MOST_SPANS = 500  # per request
_INTERNAL, _CLIENT = 1, 3  # kinds of spans
_ERROR = 2  # status of a span
_PROVIDERS = {"openai": "openai", "anthropic": "anthropic"}  # provider names by prefix of the adapter
_NO_ERROR = (CallStatus.SUCCEEDED, CallStatus.REJECTED, CallStatus.INTERRUPTED)
Span = dict[str, Any]


def requests_of(events: Sequence[Event], *, with_content: bool) -> Iterator[dict[str, Any]]:
    """Yield request bodies with spans for the LLM calls, tool calls and tasks that ended, according to the events."""
    tasks = Task.objects.select_related("session__agent", "parent_call").in_bulk({event["task"] for event in events})
    for task in tasks.values():
        task_events = [event for event in events if event["task"] == str(task.pk)]
        spans = redactor_of(task.session).redacted_json(list(_spans(task, task_events, with_content)))
        for start in range(0, len(spans), MOST_SPANS):
            scope = {"scope": {"name": "agentsite"}, "spans": spans[start : start + MOST_SPANS]}
            yield {"resourceSpans": [{"resource": _attributes({"service.name": "agentsite"}), "scopeSpans": [scope]}]}


def _spans(task: Task, events: Sequence[Event], with_content: bool) -> Iterator[Span]:
    """Yield the spans. The task's span comes last: until then, the others refer to a parent that does not exist
    yet.
    """
    call_ids = {event["data"]["llm_call"] for event in events if "llm_call" in event["data"]}
    failures = [event["data"] for event in events if event["type"] == EventType.ATTEMPT_FAILED]
    errors = {data["llm_call"]: data["error_type"] for data in failures}
    for request in LLMLog.objects.filter(pk__in=call_ids).order_by("created_at"):
        yield _llm_call_span(task, request, errors.get(str(request.pk), ""))
    results = {event["data"]["id"]: event["data"] for event in events if event["type"] == EventType.TOOL_RESULT}
    calls = ToolCallLog.objects.filter(session_id=task.session_id, call_id__in=results)
    for call in calls.exclude(name="message").order_by("pk"):
        content = {"arguments": call.arguments, "result": results[call.call_id]["content"]} if with_content else {}
        yield _tool_call_span(task, call, {f"gen_ai.tool.call.{name}": text for name, text in content.items()})
    for event in events:
        if event["type"] == EventType.TASK_ENDED:
            yield _task_span(task, datetime.fromisoformat(event["at"]))


def _task_span(task: Task, end: datetime) -> Span:
    agent = task.session.agent
    return _span(
        task,
        str(task.pk),
        f"invoke_agent {agent.name}" if agent else "invoke_agent",
        (task.created_at, end),
        error=task.failure_code,
        about={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "agentsite",
            "gen_ai.agent.name": agent.name if agent else None,
            "gen_ai.usage.input_tokens": task.input_tokens,
            "gen_ai.usage.output_tokens": task.output_tokens,
            "agentsite.task.id": str(task.pk),
            "agentsite.cost_usd": None if task.cost_usd is None else float(task.cost_usd),
        },
    )


def _llm_call_span(task: Task, request: LLMLog, error: str) -> Span:
    """Return the span of an LLM call, which is logged at its end. `error` is a fault of its answer, if any."""
    provider = next(
        (name for prefix, name in _PROVIDERS.items() if request.adapter.startswith(prefix)), request.provider
    )
    return _span(
        task,
        str(request.pk),
        f"chat {request.provider_model}",
        (request.created_at - timedelta(milliseconds=request.duration_ms), request.created_at),
        kind=_CLIENT,
        error=error or ("" if request.status == LLMCallStatus.SUCCEEDED else request.error_type or request.status),
        about={
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": request.provider_model,
            "gen_ai.response.finish_reasons": [request.finish_reason] if request.finish_reason else None,
            "gen_ai.usage.input_tokens": request.input_tokens,
            "gen_ai.usage.cache_read.input_tokens": request.cached_tokens,
            "gen_ai.usage.output_tokens": request.output_tokens,
            "http.request.resend_count": request.attempt - 1 or None,
            "agentsite.purpose": request.purpose,
        },
    )


def _tool_call_span(task: Task, call: ToolCallLog, content: Mapping[str, Any]) -> Span:
    end = call.started_at + timedelta(milliseconds=call.duration_ms or 0)
    return _span(
        task,
        call.call_id,
        f"execute_tool {call.name}",
        (call.started_at, end),
        error="" if call.status in _NO_ERROR else call.status,
        about={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.call_id,
            "agentsite.tool.status": call.status,
            **content,
        },
    )


def _span(
    task: Task,
    key: str,
    name: str,
    time: tuple[datetime, datetime],
    *,
    about: Mapping[str, Any],
    kind: int = _INTERNAL,
    error: str = "",
) -> Span:
    root, span_id, call = _span_id(task.pk, str(task.pk)), _span_id(task.pk, key), task.parent_call
    parent_id = root if span_id != root else _span_id(call.task_id, call.call_id) if call else ""
    status = {"status": {"code": _ERROR, "message": error}} if error else {}
    common = {"error.type": error or None, "gen_ai.conversation.id": str(task.session_id)}
    return {
        "traceId": _root_task(task).pk.hex,
        "spanId": span_id,
        **({"parentSpanId": parent_id} if parent_id else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _nanoseconds(time[0]),
        "endTimeUnixNano": _nanoseconds(time[1]),
        **_attributes({**about, **common}),
        **status,
    }


def _root_task(task: Task) -> Task:
    """Return the task that a person started. Delegated tasks belong to its trace."""
    return _root_task(task.parent_call.task) if task.parent_call else task


def _span_id(task: UUID, key: str) -> str:
    return hashlib.sha256(f"{task} {key}".encode()).hexdigest()[:16]


def _nanoseconds(time: datetime) -> str:
    """Return nanoseconds as text, because OTLP's JSON has no 64-bit numbers."""
    return str(round(time.timestamp() * 1_000_000) * 1000)


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes, without missing values."""
    return {"attributes": [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]}


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}
