"""A task that has ended as spans of OpenTelemetry, by the conventions for generative AI, in the JSON of OTLP over HTTP.

The ids follow from those of our rows, so spans that are sent twice are the same spans.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from llm_app.models import LLMLog
from llm_app.models.log import CallStatus as RequestStatus
from tasks_app.models import CallStatus, ContextEntry, ContextType, EventType, Task, ToolCallLog
from tasks_app.record import redactor_of

MOST_SPANS = 500  # in one request
_INTERNAL, _CLIENT = 1, 3  # kinds of spans
_ERROR = 2  # status of a span
_PROVIDERS = {"openai": "openai", "anthropic": "anthropic"}  # by how the name of an adapter begins
_FAULTLESS = (CallStatus.SUCCEEDED, CallStatus.REJECTED, CallStatus.INTERRUPTED)
Span = dict[str, Any]


def requests_of(events: Sequence[Mapping[str, Any]], *, with_content: bool) -> Iterator[dict[str, Any]]:
    """The bodies that tell a collector of the tasks whose end is among these events."""
    ends = {event["task"]: event["at"] for event in events if event["type"] == EventType.TASK_ENDED}
    for task in Task.objects.filter(pk__in=ends).select_related("session__agent"):
        end = datetime.fromisoformat(ends[str(task.pk)])
        spans = redactor_of(task.session).redacted_json(list(_spans(task, end, with_content)))
        for start in range(0, len(spans), MOST_SPANS):
            yield _request(spans[start : start + MOST_SPANS])


def _request(spans: Sequence[Span]) -> dict[str, Any]:
    scope = {"scope": {"name": "agentsite"}, "spans": spans}
    return {"resourceSpans": [{"resource": _attributes({"service.name": "agentsite"}), "scopeSpans": [scope]}]}


def _spans(task: Task, end: datetime, with_content: bool) -> Iterator[Span]:
    yield _of_task(task, end)
    for request in LLMLog.objects.filter(task_id=task.pk).order_by("created_at"):
        yield _of_request(task, request)
    calls = ToolCallLog.objects.filter(task=task).exclude(name="message").order_by("pk")
    results = _results(task) if with_content else {}
    for call in calls:
        content = {}
        if with_content:
            content = {
                "gen_ai.tool.call.arguments": call.arguments,
                "gen_ai.tool.call.result": results.get(call.call_id),
            }
        yield _of_call(task, call, content)


def _results(task: Task) -> dict[str, str]:
    found = ContextEntry.objects.filter(task=task, context_type=ContextType.TOOL_RESULT)
    return dict(found.values_list("tool_call_id", "content"))


def _of_task(task: Task, end: datetime) -> Span:
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


def _of_request(task: Task, request: LLMLog) -> Span:
    """It was stored when it had ended."""
    provider = next((name for begin, name in _PROVIDERS.items() if request.adapter.startswith(begin)), request.provider)
    return _span(
        task,
        str(request.pk),
        f"chat {request.provider_model}",
        (request.created_at - timedelta(milliseconds=request.duration_ms), request.created_at),
        kind=_CLIENT,
        error="" if request.status == RequestStatus.SUCCEEDED else request.error_type or request.status,
        about={
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": request.provider_model,
            "gen_ai.response.finish_reasons": [request.finish_reason] if request.finish_reason else None,
            "gen_ai.usage.input_tokens": request.input_tokens,
            "gen_ai.usage.cache_read.input_tokens": request.cached_tokens,
            "gen_ai.usage.output_tokens": request.output_tokens,
            "agentsite.purpose": request.purpose,
        },
    )


def _of_call(task: Task, call: ToolCallLog, content: Mapping[str, Any]) -> Span:
    end = call.started_at + timedelta(milliseconds=call.duration_ms or 0)
    return _span(
        task,
        call.call_id,
        f"execute_tool {call.name}",
        (call.started_at, end),
        error="" if call.status in _FAULTLESS else call.status,
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
    root, own, call = _span_id(task.pk, str(task.pk)), _span_id(task.pk, key), task.parent_call
    above = root if own != root else _span_id(call.task_id, call.call_id) if call else ""
    failed = {"status": {"code": _ERROR, "message": error}} if error else {}
    more = {"error.type": error or None, "gen_ai.conversation.id": str(task.session_id)}
    return {
        "traceId": _first(task).pk.hex,
        "spanId": own,
        **({"parentSpanId": above} if above else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _nanoseconds(time[0]),
        "endTimeUnixNano": _nanoseconds(time[1]),
        **_attributes({**about, **more}),
        **failed,
    }


def _first(task: Task) -> Task:
    """The one that a person started; what it has delegated belongs to its trace."""
    return _first(task.parent_call.task) if task.parent_call else task


def _span_id(task: UUID, key: str) -> str:
    return hashlib.sha256(f"{task} {key}".encode()).hexdigest()[:16]


def _nanoseconds(moment: datetime) -> str:
    """64-bit numbers are texts in this JSON."""
    return str(round(moment.timestamp() * 1_000_000) * 1000)


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that have a value."""
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
