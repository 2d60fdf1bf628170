"""The JSON of tasks in REST, and the queries of its columns."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet

from tasks_app.access import is_visible
from tasks_app.api.formats import as_time
from tasks_app.models import Task
from tasks_app.run.open_call import pending_json
from tasks_app.runtime import admission

_FIELDS = [
    *("session", "state", "waiting_for", "stopped", "failure_code", "failure_detail", "iteration", "workflow", "plan"),
    *("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens", "cost_usd", "output_schema", "final_result"),
    *("created_at", "ended_at", "admitted_at", "terminal", "stop_requested_at", "silence", "epoch"),
    *("agent_version__number", "agent_version__content", "parent_call__task"),
]


def visible_tasks(user: Any, filters: Mapping[str, Any]) -> "QuerySet[Task]":
    """Return the visible tasks that match."""
    if "session" not in filters:
        tasks = Task.objects.visible_to(user)
    elif is_visible(user, filters["session"]):
        tasks = Task.objects.all()
    else:
        return Task.objects.none()
    return tasks.filter(**filters).select_related("agent_version", "parent_call").only(*_FIELDS)


def children_of(tasks: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the ids of the tasks that each task has delegated, in the order of its calls."""
    children: dict[UUID, list[str]] = {task: [] for task in tasks}
    for task, child in Task.objects.children_of(list(children)):
        children[task].append(str(child))
    return children


def as_json(task: Task, children: list[str]) -> dict[str, Any]:
    version, parent, final = task.agent_version, task.parent_call, task.final_result
    return {
        "id": str(task.pk),
        "session": str(task.session_id),
        "agent": version and {"name": version.name, "version": version.number},
        "parent": parent and str(parent.task_id),
        "children": children,
        "state": task.state,
        "waiting_for": task.waiting_for,
        "silence": task.silent_provider,
        "queue_position": admission.position_of(task),
        "failure": {"code": task.failure_code, "detail": task.failure_detail} if task.failure_code else None,
        "stopped": task.stopped,
        "iteration": task.iteration,
        "pending": pending_json(task),
        "workflow": task.workflow.get("name"),
        "plan": [{name: step[name] for name in ("title", "status")} for step in task.plan],
        "usage": task.usage,
        "cost_usd": None if task.cost_usd is None else float(task.cost_usd),
        "output_schema": orjson.loads(task.output_schema) if task.output_schema else None,
        "final_result": {name: final.get(name) for name in ("text", "data", "attachments", "suggestions")}
        if final
        else None,
        "created_at": as_time(task.created_at),
        "ended_at": task.ended_at and as_time(task.ended_at),
    }
