"""Before each step: the people first, then the limits, then the tools as they are allowed at this moment."""

from django.utils import timezone

from llm_app import abilities
from tasks_app import reminders, settings_version
from tasks_app.engine import workflow
from tasks_app.engine.capabilities import skills
from tasks_app.engine.closing import close_open_call
from tasks_app.engine.hooks import hooks_of
from tasks_app.memory import search
from tasks_app.models import Agent, Limits, Loaded, LoadedKind, PromptSection, Session, TaskState
from tasks_app.models.task import FailureCode
from tasks_app.reminders.before_step import Moment, due
from tasks_app.run.context import TaskContext
from tasks_app.run.interrupts import LimitExceeded, Stopped
from tasks_app.runtime import process
from tools_app.policy import Policy, policy_for

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
    look_up(context)
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


def look_up(context: TaskContext) -> None:
    """All that administrators and owners may change while a task runs, as it is now."""
    context.secrets.refresh()
    look_at_settings(context)
    if context.policy.on_demand:
        context.loaded_groups = _loaded_groups(context.session)


def _loaded_groups(session: Session) -> frozenset[str]:
    return frozenset(Loaded.objects.filter(session=session, kind=LoadedKind.GROUP).values_list("name", flat=True))


def look_at_settings(context: TaskContext) -> None:
    """Reads them where anything changed: one query tells, so it may be asked again whenever something took its time."""
    session = Session.objects.filter(pk=context.session.pk).annotate(version=settings_version.NOW)
    version, agent, denied = session.values_list("version", "agent_id", "denied_tools").get()
    known = (version, timezone.now().date(), agent, denied, skills.in_folders())
    if context.known_settings != known:
        _read_settings(context, denied)
        context.known_settings = known


def _read_settings(context: TaskContext, denied: list[str]) -> None:
    context.limits = Limits.current()
    context.agent = Agent.objects.of_session(context.session.pk)
    context.own_sections = PromptSection.objects.texts_of(context.agent)
    context.allowance.refresh()
    context.policy = _policy(context, denied)
    context.hooks = hooks_of(context.agent, off_record=context.session.off_record)
    context.skills = skills.catalogue(context.task.started_by_id)
    context.abilities = abilities.of_user(context.task.started_by_id, preferred=context.model)


def _policy(context: TaskContext, in_session: list[str]) -> Policy:
    """What the task's person may use, in this session, by its agent."""
    agent = context.agent
    off_record = context.session.off_record
    denied = [*in_session, *(agent.denied_tools if agent else ()), *(["memory"] if off_record else [])]
    safe_only = off_record or bool(agent and agent.safe_only)
    return policy_for(context.task.started_by_id, denied=denied, safe_only=safe_only)


def _begin(context: TaskContext) -> None:
    """The date and the workspace stand in the record, right after the message that starts the task."""
    instructions = search.text_file(context, "AGENTS.md")
    remembered = search.recalled(context, instructions, context.interruption.unless_aborted)
    start = reminders.task_start(timezone.now(), context.workspace.listing(), instructions, remembered)
    earlier = context.session.tasks.exclude(pk=context.task.pk).order_by("-created_at").values_list("shown_tools")
    shown = earlier.first()
    first_step, plan = workflow.beginning(context.task)
    fields = {"state": TaskState.THINKING, "shown_tools": shown[0] if shown else [], **plan}
    context.commit(start, *first_step, **fields)


def _check_iterations(context: TaskContext) -> None:
    most = context.task.max_iterations or context.limits.max_iterations
    if context.task.iteration >= most and context.open_call() is None:
        raise LimitExceeded(
            FailureCode.MAX_ITERATIONS,
            f"The task used all of its {most} iterations. Write “go on” to continue, or ask for less at once.",
        )


def _remind(context: TaskContext) -> None:
    """Appends the reminders that are due, in one commit; none between a call and its result."""
    if context.open_call() is not None:
        return
    task, tools = context.task, sorted(tool.name for tool in context.policy.visible(context.situation))
    moment = Moment(
        task=task,
        limits=context.limits,
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
