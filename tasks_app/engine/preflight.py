"""Before each step: the people first, then the limits, then the tools as they are allowed at this moment."""

from django.utils import timezone

from llm_app import abilities
from tasks_app.engine import reminders
from tasks_app.engine.closing import close_open_call
from tasks_app.engine.interrupts import LimitExceeded, Stopped
from tasks_app.engine.task_context import TaskContext
from tasks_app.models import Limits, TaskState
from tasks_app.models.task import FailureCode
from tools_app.policy import policy_for


def check(context: TaskContext) -> None:
    """Raises Stopped or LimitExceeded; appends what people wrote; reads limits, budgets and the policy anew."""
    if context.stop_requested():
        raise Stopped(*close_open_call(context, "Stopped by the user."))
    if context.task.state == TaskState.INITIALIZING:
        _begin(context)
    if messages := context.interjections():
        if closing := close_open_call(context, "Not run: the user wrote a message instead."):
            context.commit(*closing, state=TaskState.THINKING)
        context.take(messages)
    context.secrets.refresh()
    context.limits = Limits.current()
    context.allowance.refresh()
    context.policy = policy_for(context.task.started_by_id)
    model = context.session.model.name if context.session.model else ""
    context.abilities = abilities.of_user(context.task.started_by_id, preferred=model)
    _check_iterations(context)


def _begin(context: TaskContext) -> None:
    """The date and the workspace stand in the record, right after the message that starts the task."""
    start = reminders.task_start(timezone.now(), context.workspace.listing())
    context.commit(start, state=TaskState.THINKING)


def _check_iterations(context: TaskContext) -> None:
    most = context.task.max_iterations or context.limits.max_iterations
    if context.task.iteration >= most and context.open_call() is None:
        raise LimitExceeded(
            FailureCode.MAX_ITERATIONS,
            f"The task used all of its {most} iterations. Write “go on” to continue, or ask for less at once.",
        )
