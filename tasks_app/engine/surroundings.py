"""What hooks may know of the task around a call, read from the record when they want it."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from tasks_app.engine.capabilities.model_access import ModelAccess
from tasks_app.models import ContextEntry, ContextType
from tasks_app.run.context import TaskContext
from tools_app.hooks.base import HookContext, PastCall


def surroundings(context: TaskContext) -> HookContext:
    reviewer = context.agent.review_model if context.agent else None
    ask = ModelAccess(context, lambda words: None, model=reviewer.name if reviewer else "").ask
    return HookContext(
        session=str(context.session.pk),
        task=str(context.task.pk),
        person=context.task.started_by.get_username(),
        request=lambda: _request(context),
        past=lambda: _past(context),
        ask_model=ask,
    )


def _request(context: TaskContext) -> str:
    """All that its person wrote in this task, oldest first."""
    words = [entry.content for entry in _newest_first(context) if entry.context_type == ContextType.USER_MESSAGE]
    return "\n\n".join(reversed(words))


def _past(context: TaskContext) -> Sequence[PastCall]:
    """The calls that have their result, oldest first."""
    made, result = [], None
    for entry in _newest_first(context):
        if entry.tool_call_id:
            result = entry
        elif entry.call and result is not None and result.tool_call_id == entry.call["id"]:
            made.append(_past_call(entry, result))
    return made[::-1]


def _past_call(entry: ContextEntry, result: ContextEntry) -> PastCall:
    return PastCall(
        tool=(entry.call or {})["name"],
        arguments=entry.arguments if isinstance(entry.arguments, dict) else {},
        status=str(result.metadata.get("status", "")),
        content=result.content,
        refused_by=str(result.metadata.get("refused_by", "")),
    )


def _newest_first(context: TaskContext) -> Iterator[ContextEntry]:
    """The entries of this task: a session's tasks stand one after the other."""
    return takewhile(lambda entry: entry.task_id == context.task.pk, reversed(context.history.entries))
