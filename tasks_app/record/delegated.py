"""The delegated tasks of a call, as the page of the delegating session shows them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks_app.models import PERSON_WAITS, CallStatus, Session, Task, ToolCallLog, WaitingFor

TOOL_NAME, _AGENT_PREFIX = "delegate", "ask_"


def children_of(logs: Iterable[ToolCallLog]) -> Mapping[str, Sequence[Task]]:
    """Return the child tasks by call id, in the order in which the call lists them."""
    children: defaultdict[str, list[Task]] = defaultdict(list)
    if calls := {log.pk: log.call_id for log in logs if log.name == TOOL_NAME or log.name.startswith(_AGENT_PREFIX)}:
        rows = Task.objects.filter(parent_call__in=calls).order_by("number")
        for child in rows.select_related("session__agent", "session__active_agent"):
            children[calls[child.parent_call_id or 0]].append(child)
    return dict(children)


def awaited_children(task: Task) -> list[Task]:
    """Return the children that a task waits for, including the ones that have ended."""
    if task.waiting_for != WaitingFor.CHILDREN:
        return []
    return list(Task.objects.filter(parent_call__task=task, parent_call__status=CallStatus.WAITING).order_by("number"))


def waiting_for_person(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that wait for a person, among the given ones and all their descendants."""
    waiting_tasks = [task for task in tasks if task.waiting_for in PERSON_WAITS]
    if parents := [task for task in tasks if task.waiting_for == WaitingFor.CHILDREN]:
        waiting_tasks += waiting_for_person(list(Task.objects.active().filter(parent_call__task__in=parents)))
    return waiting_tasks


def delegating_session(session: Session, viewer: Any) -> Session | None:
    """Return the session that delegated this session's task, or None if the viewer may not see it."""
    if session.root_id is None:
        return None
    return Session.objects.visible_to(viewer).filter(tasks__tool_calls__children__session=session).first()
