"""Reminders before a step. Each function returns its reminder when it is due.

To add one, write a function of a `StepState` and list it in `_REMINDERS`. In most steps none is due, and nothing is
read or written for it.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice, takewhile
from typing import Any

from llm_app.budgets import LimitState
from tasks_app.models import ContextEntry, ContextType, Limits, Project, Task
from tasks_app.record import Draft, reminder
from tasks_app.run.reminders.on_event import LONGEST_INSTRUCTIONS, project_instructions
from tasks_app.text.languages import language_of
from tools_app.contract import PLAN_STEP

_FEW_STEPS = 10


@dataclass(frozen=True, kw_only=True)
class StepState:
    """The state that the triggers examine.

    `entries` are those that the model sees in full, `newest` the last of them by type and by kind of reminder. `tools`
    are the names that the model sees. `permitted` adds tools that the policy allows but that are not shown, `groups`
    has those to load. `repeatable` are tools whose calls are allowed to repeat.
    """

    task: Task
    limits: Limits
    entries: Sequence[ContextEntry] = ()
    newest: Mapping[str, ContextEntry] = field(default_factory=dict)
    tools: Sequence[str] = ()
    permitted: Collection[str] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    repeatable: Collection[str] = ()
    limit_states: Sequence[LimitState] = ()
    has_made_all_calls: bool = False
    max_iterations: int = sys.maxsize
    project: Project | None = None
    longest: int = LONGEST_INSTRUCTIONS

    def was_given(self, kind: str) -> bool:
        return kind in self.task.reminded

    def is_early(self, kind: str, after: int) -> bool:
        """Return whether a repeated reminder is not due yet: first after `after` replies, then after twice as many."""
        last: int = self.task.reminded.get(kind, 0)
        return self.task.iteration < max(last + after, 2 * last)

    def replies(self) -> Iterator[ContextEntry]:
        """Yield the model's replies, newest first."""
        return (entry for entry in reversed(self.entries) if entry.role == "assistant")


def due(step: StepState) -> list[Draft]:
    """Return the reminders that are due before the next step."""
    return [draft for remind in _REMINDERS if (draft := remind(step)) is not None]


def workflow_step(workflow: Mapping[str, Any], index: int) -> Draft:
    """Describe a step of a workflow.

    The first step is described at the start of the task, each later one after the result that ends its predecessor. The
    first description also lists all steps. `index` counts from 0.
    """
    steps = workflow["steps"]
    titles = " → ".join(step["title"] for step in steps)
    introduction = f"This task follows the workflow “{workflow['name']}”: {titles}.\n" if index == 0 else ""
    text = (
        f"{introduction}Step {index + 1} of {len(steps)}: {steps[index]['title']}\n{steps[index]['instructions']}\n"
        'When it is done, call `step` with action "done". If it cannot be done, call it with action "blocked" and say '
        "in `note` what prevents it and what you need; the person answers."
    )
    return Draft(context_type=ContextType.WORKFLOW_STEP, content=text, metadata={"step": index + 1})


def current_index(task: Task) -> int | None:
    """Return the index of the workflow step in progress, or None."""
    return next((index for index, step in enumerate(task.plan) if step["status"] == "in_progress"), None)


def _workflow_step_again(step: StepState) -> Draft | None:
    """Describe the current step again when the model no longer sees its entry."""
    if not step.task.workflow or ContextType.WORKFLOW_STEP in step.newest:
        return None
    index = current_index(step.task)
    return None if index is None else workflow_step(step.task.workflow, index)


def project(step: StepState) -> Draft | None:
    """Give the model the current instructions of the session's project, before a step, unless it has seen them.

    It has not after a change, after a cut of the entry with them, and when the session has left the project.
    """
    previous, project_row = step.newest.get("project"), step.project
    version = ""
    if project_row and project_row.instructions:
        digest = sha256(f"{project_row.name}\n{project_row.instructions}".encode()).hexdigest()
        version = f"{project_row.pk} {digest[:16]}"
    if version == (previous.metadata.get("version") if previous else ""):
        return None
    if project_row is None or not version:
        text = "The instructions of a project that were given above no longer apply."
    else:
        text = project_instructions(
            project_row.name, project_row.instructions, step.longest, again=previous is not None
        )
    draft = reminder(text, "project")
    return replace(draft, metadata={**draft.metadata, "version": version})


def budget(step: StepState) -> Draft | None:
    """Warn before a step when most of a budget that limits the task is spent, once a task.

    Names the limit of which the largest share is spent.
    """
    nearest = max(step.limit_states, key=lambda state: state.share_spent, default=None)
    if nearest is None or step.was_given("budget"):
        return None
    if nearest.share_spent * 100 < step.limits.budget_reminder_percent:
        return None
    text = (
        f"{nearest.share_spent:.0%} of the {nearest.limit.description} is spent; once all of it is, the task ends "
        "without a result. Finish what matters most, leave out what is optional, and hand over the result while you "
        "still can. Say in it what you left out."
    )
    return reminder(text, "budget")


def step_limit(step: StepState) -> Draft | None:
    """Warn before a step when few iterations of the task are left, once a task."""
    left = step.max_iterations - step.task.iteration
    if left > min(_FEW_STEPS, step.max_iterations // 6) or step.was_given("step_limit"):
        return None
    text = (
        f"{left} of this task's {step.max_iterations} steps are left; then it ends without a result. Finish what "
        "matters most, keep what you have in a file, and hand over the result in time. Say in it what remains to be "
        "done: the person can let you go on in a new task."
    )
    return reminder(text, "step_limit")


def tool_limit(step: StepState) -> Draft | None:
    """Ask for the answer before a step when the task has made all its tool calls.

    From then on it can only call `message`.
    """
    if not step.has_made_all_calls or step.was_given("tool_limit"):
        return None
    text = (
        f"This task has made all of its {step.task.calls_made} tool calls; only `message` is still available. Answer "
        'now with what you know, by `message` of type "result". Say what is certain, what you could not check and what '
        "remains to be done."
    )
    return reminder(text, "tool_limit")


def tool_list(step: StepState) -> Draft | None:
    """Report changes of the tool list since the last request, before a step.

    Names new tools, forbidden tools, and tools that can be loaded now or are not shown for another reason. Changes that
    the result of `load_tools` has named are left out. Order does not matter. The limit on tool calls has its own
    reminder.
    """
    previous, current = set(step.task.shown_tools), set(step.tools)
    if not previous or previous == current or step.has_made_all_calls:
        return None
    removed, permitted = previous - current, frozenset(step.permitted)
    grouped = removed & permitted & {name for names in step.groups.values() for name in names}
    added, forbidden, hidden = _named(current - previous), _named(removed - permitted), removed & permitted - grouped
    changes = [f"New: {added}."] if added else []
    changes += [f"Now to be loaded with `load_tools`: {_named(grouped)}."] if grouped else []
    changes += [f"Not shown for now: {_named(hidden)}."] if hidden else []
    changes += [f"No longer allowed: {forbidden}. Do not try to do what they did by other means."] if forbidden else []
    return reminder(f"Your tools have changed. {' '.join(changes)}", "tool_list")


def _named(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def stale_plan(step: StepState) -> Draft | None:
    """List the open steps when the plan has not changed for many replies, and again after twice as many."""
    task, after = step.task, step.limits.stale_plan_after
    still_open = [item for item in task.plan if item["status"] != "done"]
    if not still_open or "plan" not in step.tools or step.is_early("stale_plan", after):
        return None
    if any(_is_of_plan(reply) for reply in islice(step.replies(), after)):
        return None
    steps = "\n".join(f"- {item['title']} ({item['status']})" for item in still_open)
    text = (
        f"Your plan has not changed for {after} replies. The person sees it beside the chat; these steps are open:\n"
        f"{steps}\nIf a step is done, say with `plan_step` in your next call which one begins; if your approach has "
        "changed, update the plan; otherwise go on."
    )
    return reminder(text, "stale_plan")


def _is_of_plan(reply: ContextEntry) -> bool:
    return reply.call is not None and (reply.call["name"] == "plan" or PLAN_STEP in reply.call["arguments"])


def same_tool(step: StepState) -> Draft | None:
    """Question the approach before a step when many replies in a row called one tool, and again after twice as many.

    The calls differ in their arguments. A message of the person begins a new row. Tools that are allowed to repeat
    themselves do not count.
    """
    after = step.limits.same_tool_after
    if step.is_early("same_tool", after):
        return None
    since_message = takewhile(lambda entry: entry.context_type != ContextType.USER_MESSAGE, reversed(step.entries))
    replies = list(islice((entry for entry in since_message if entry.role == "assistant"), after))
    names = {reply.call["name"] if reply.call else "" for reply in replies}
    if len(replies) < after or len(names) != 1 or not names.isdisjoint({"", *step.repeatable}):
        return None
    text = (
        f"Your last {after} calls were all of `{names.pop()}`, with different arguments. If each brings you nearer to "
        "the result, go on. If not, stop and think: what are you looking for, and would another tool, a broader or "
        "narrower call, a script or a question to the person get there in fewer steps?"
    )
    return reminder(text, "same_tool")


def language(step: StepState) -> Draft | None:
    """Name the person's language after a message to them in another one, once a task.

    Conservative: only if both languages are unmistakable.
    """
    reply = next(step.replies(), None)
    if reply is None or reply.context_type != ContextType.AI_MESSAGE or step.was_given("language"):
        return None
    message = step.newest.get(ContextType.USER_MESSAGE)
    if not (expected := language_of(message.content if message else "")):
        return None
    arguments = reply.arguments
    used = language_of(str(arguments.get("text") if isinstance(arguments, dict) else reply.content))
    if used in ("", expected):
        return None
    text = (
        f"Your last message is in {used}, but the person writes {expected}. Write to them in {expected} from now on, "
        "unless they or their preferences ask for another language. Code, names and quotations stay as they are."
    )
    return reminder(text, "language")


def window(newest: Mapping[str, ContextEntry], cut: int) -> Draft | None:
    """Ask the model, when its window is nearly full, to write down what it needs, once before each move of the cut.

    `cut` is the last entry that is cut now. The caller knows how full the window is.
    """
    previous = newest.get("window")
    if previous is not None and previous.metadata["cut"] == cut:
        return None
    text = (
        "At this point your window is nearly full: soon the beginning of this conversation is cut to an outline, "
        "where of each step the sentence beside your call (its first 300 characters) and the call stay, but hardly "
        "anything of the result. With the call right after this, write down what you must not lose (findings, "
        "figures, decisions, open points): beside it, or in a file if it is long. Then go on."
    )
    draft = reminder(text, "window")
    return replace(draft, metadata={**draft.metadata, "cut": cut})


_REMINDERS: Sequence[Callable[[StepState], Draft | None]] = (
    project,
    _workflow_step_again,
    budget,
    step_limit,
    tool_limit,
    tool_list,
    stale_plan,
    same_tool,
    language,
)
