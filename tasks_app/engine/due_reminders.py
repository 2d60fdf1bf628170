"""What the model must be told now: each reminder by its own trigger.

In most iterations nothing is due, and nothing is read or written for it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tasks_app.engine.workflow import current_step
from tasks_app.interaction.open_call import OpenCall
from tasks_app.models import ContextEntry, ContextType, ToolCallLog
from tasks_app.record.draft import Draft
from tasks_app.reminders.budget import budget
from tasks_app.reminders.language import language
from tasks_app.reminders.repetition import cycle
from tasks_app.reminders.stale_plan import stale_plan
from tasks_app.reminders.tool_limit import tool_limit
from tasks_app.reminders.tool_list import tool_list
from tasks_app.run.context import TaskContext
from tasks_app.run.loop_detector import CYCLE_REPEATS

Trigger = Callable[[TaskContext, Sequence[str]], Draft | None]


def after_result(context: TaskContext, call: OpenCall) -> list[Draft]:
    """What is said right after the result of a call: that it has completed a cycle."""
    circle = context.detector.cycle()
    if not circle or circle[-1] != call.log.fingerprint:  # calls of tools that may repeat themselves are not in it
        return []
    logs = [*ToolCallLog.objects.filter(task=context.task, fingerprint__in=circle), call.log]
    written = {log.fingerprint: f"{log.name}({log.arguments})" for log in logs}
    return [cycle([written[fingerprint] for fingerprint in circle], CYCLE_REPEATS)]


def before_thinking(context: TaskContext) -> None:
    """Appends what is due, in one commit. Between a call and its result nothing is."""
    if context.open_call() is not None:
        return
    shown = sorted(tool.name for tool in context.policy.visible(context.situation))
    if drafts := [draft for trigger in _TRIGGERS if (draft := trigger(context, shown)) is not None]:
        said = {draft.metadata.get("kind", "step"): context.task.iteration for draft in drafts}
        context.commit(*drafts, reminded=context.task.reminded | said, shown_tools=shown)
    elif shown != context.task.shown_tools:
        context.stage(shown_tools=shown)


def _budget(context: TaskContext, shown: Sequence[str]) -> Draft | None:
    if "budget" in context.task.reminded:
        return None
    return budget(context.allowance.standings, context.limits.budget_reminder_percent)


def _tool_limit(context: TaskContext, shown: Sequence[str]) -> Draft | None:
    is_new = context.has_made_all_calls and "tool_limit" not in context.task.reminded
    return tool_limit(context.task.calls_made) if is_new else None


def _tool_list(context: TaskContext, shown: Sequence[str]) -> Draft | None:
    """The limit on tool calls has a reminder of its own."""
    if not context.task.shown_tools or context.has_made_all_calls:
        return None
    return tool_list(context.task.shown_tools, shown)


def _stale_plan(context: TaskContext, shown: Sequence[str]) -> Draft | None:
    plan, after = context.task.plan, context.limits.stale_plan_after
    said_at = context.task.reminded.get("stale_plan", 0)
    if all(step["status"] == "done" for step in plan) or "plan" not in shown:
        return None
    if context.task.iteration - said_at < after or any(_is_plan(entry) for entry in islice(_replies(context), after)):
        return None
    return stale_plan(plan, after)


def _language(context: TaskContext, shown: Sequence[str]) -> Draft | None:
    newest = next(_replies(context), None)
    if newest is None or newest.context_type != ContextType.AI_MESSAGE or "language" in context.task.reminded:
        return None
    written = newest.arguments.get("text") if isinstance(newest.arguments, dict) else newest.content
    people = (entry for entry in reversed(context.history.entries) if entry.context_type == ContextType.USER_MESSAGE)
    return language(str(written), next((entry.content for entry in people), ""))


def _replies(context: TaskContext) -> Iterator[ContextEntry]:
    """What the model said, newest first."""
    return (entry for entry in reversed(context.history.entries) if entry.role == "assistant")


def _is_plan(reply: ContextEntry) -> bool:
    return reply.call is not None and reply.call["name"] == "plan"


def _workflow_step(context: TaskContext, shown: Sequence[str]) -> Draft | None:
    """The current step again, when the entry that named it has gone out of sight."""
    types = (entry.context_type for entry in reversed(context.history.entries))
    return None if not context.task.workflow or ContextType.WORKFLOW_STEP in types else current_step(context.task)


_TRIGGERS: Sequence[Trigger] = (_workflow_step, _budget, _tool_limit, _tool_list, _stale_plan, _language)
