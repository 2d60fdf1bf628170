"""Before each step: people's stops and messages first, then settings and limits, then the reminders that are due."""

from django.utils import timezone

from tasks_app import reminders
from tasks_app.engine import step_settings, workflow
from tasks_app.engine.closing import close_open_call
from tasks_app.memory import search
from tasks_app.models import FailureCode, TaskState
from tasks_app.reminders.before_step import Moment, due
from tasks_app.run import LimitExceeded, TaskContext
from tasks_app.run.interrupts import Stopped
from tasks_app.runtime import process

TERMINAL_GONE = "The terminal that ran this task has ended."


def check(context: TaskContext) -> None:
    """Raises Stopped or LimitExceeded; appends what people wrote; reads limits, budgets and the policy anew."""
    is_wanted = _is_wanted(context)
    if context.task.state == TaskState.INITIALIZING:
        _begin(context)
        is_wanted = _is_wanted(context)  # to begin may have asked a model, which a person ended
    if is_wanted and (messages := context.interjections()):
        if closing := close_open_call(context, "Not run: the user wrote a message instead."):
            context.commit(*closing, state=TaskState.THINKING)
        context.take(messages, *reminders.interruption(context.history.entries, has_closed=bool(closing)))
    step_settings.refresh_all(context)
    _check_iterations(context)
    _remind(context)


def _is_wanted(context: TaskContext) -> bool:
    """Whether a person has written. Raises Stopped."""
    is_wanted = context.is_interrupted()
    if is_wanted and context.stop_requested():
        if process.is_dead(context.task.terminal):
            raise Stopped(TERMINAL_GONE, *close_open_call(context, TERMINAL_GONE))
        raise Stopped("Stopped.", *close_open_call(context, "Stopped by the user."))
    return is_wanted


def _begin(context: TaskContext) -> None:
    """Appends the date and the listing of the workspace, right after the message that starts the task."""
    instructions = search.text_file(context, "AGENTS.md")
    remembered = search.recalled(context, instructions, context.interruption.unless_aborted)
    start = reminders.task_start(timezone.now(), context.workspace.listing(), instructions, remembered)
    earlier = context.session.tasks.exclude(pk=context.task.pk).order_by("-created_at").values_list("shown_tools")
    shown = earlier.first()
    first_step, plan = workflow.beginning(context.task)
    fields = {"state": TaskState.THINKING, "shown_tools": shown[0] if shown else [], **plan}
    context.commit(start, *first_step, **fields)


def _check_iterations(context: TaskContext) -> None:
    most = context.task.max_iterations or context.settings.limits.max_iterations
    if context.task.iteration >= most and context.open_call() is None:
        raise LimitExceeded(
            FailureCode.MAX_ITERATIONS,
            f"The task used all of its {most} iterations. Write “go on” to continue, or ask for less at once.",
        )


def _remind(context: TaskContext) -> None:
    """Appends the reminders that are due, in one commit; none between a call and its result."""
    if context.open_call() is not None:
        return
    task, tools = context.task, sorted(tool.name for tool in context.settings.policy.visible(context.visibility))
    moment = Moment(
        task=task,
        limits=context.settings.limits,
        entries=context.history.entries,
        tools=tools,
        standings=context.allowance.standings,
        has_made_all_calls=context.has_made_all_calls,
    )
    if drafts := due(moment):
        said = {draft.metadata.get("kind", "step"): task.iteration for draft in drafts}
        context.commit(*drafts, reminded=task.reminded | said, shown_tools=tools)
    elif tools != task.shown_tools:
        context.stage(shown_tools=tools)
