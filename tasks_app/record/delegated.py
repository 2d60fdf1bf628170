"""The delegated tasks of a call, as the page of the delegating session shows them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks_app.models import PERSON, CallStatus, Session, Task, ToolCallLog, WaitingFor

NAME, _AGENT_AS_TOOL = "delegate", "ask_"


def children_of(logs: Iterable[ToolCallLog]) -> Mapping[str, Sequence[Task]]:
    """Return the child tasks by call id, in the order in which the call lists them."""
    found: defaultdict[str, list[Task]] = defaultdict(list)
    if calls := {log.pk: log.call_id for log in logs if log.name == NAME or log.name.startswith(_AGENT_AS_TOOL)}:
        rows = Task.objects.filter(parent_call__in=calls).order_by("number")
        for child in rows.select_related("session__agent", "session__active_agent"):
            found[calls[child.parent_call_id or 0]].append(child)
    return dict(found)


def awaited(task: Task) -> list[Task]:
    """Return the children that a task waits for, including the ones that have ended."""
    if task.waiting_for != WaitingFor.CHILDREN:
        return []
    return list(Task.objects.filter(parent_call__task=task, parent_call__status=CallStatus.WAITING).order_by("number"))


def asking(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that wait for a person, among the given ones and all their descendants."""
    found = [task for task in tasks if task.waiting_for in PERSON]
    if waiting := [task for task in tasks if task.waiting_for == WaitingFor.CHILDREN]:
        found += asking(list(Task.objects.active().filter(parent_call__task__in=waiting)))
    return found


def origin(session: Session, viewer: Any) -> Session | None:
    """Return the session that delegated this session's task, or None if the viewer may not see it."""
    if session.root_id is None:
        return None
    return Session.objects.visible_to(viewer).filter(tasks__tool_calls__children__session=session).first()
