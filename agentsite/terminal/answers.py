"""Who answers a task in the terminal: the person in front of it, or nobody."""

from collections.abc import Callable
from typing import Any

from tasks_app import services
from tasks_app.errors import MayNotDecide
from tasks_app.models import ContextEntry, Task
from tasks_app.models.approval import Decision
from tasks_app.models.task import WaitingFor
from tasks_app.record.redacted import redact_entry
from tasks_app.record.session_secrets import redactor_of

NOBODY = "No one is there. Decide yourself."
Ask = Callable[[str], str]


def answer(task: Task, user: Any, ask: Ask | None) -> None:
    """Answers what `task` waits for. Without a person: questions with “decide yourself”, approvals with no."""
    newest = ContextEntry.objects.of(task.session).in_context().last()
    call = newest and redact_entry(newest, redactor_of(task.session))
    arguments = call.arguments if call else {}
    if task.waiting_for == WaitingFor.REPLY:
        services.reply(task, user, ask(_question(arguments)) if ask else NOBODY)
    elif ask is None:
        services.decide(task, user, Decision.REJECTED, note=NOBODY)
    else:
        name = call.call["name"] if call and call.call else "?"
        said = ask(f"Run {name} {arguments}? [y/N] ").strip().lower()
        _decide(task, user, Decision.APPROVED if said in ("y", "yes") else Decision.REJECTED)


def _decide(task: Task, user: Any, decision: Decision) -> None:
    """Where somebody else must approve, nobody in this terminal can."""
    try:
        services.decide(task, user, decision)
    except MayNotDecide as error:
        services.decide(task, user, Decision.REJECTED, note=str(error))


def _question(arguments: Any) -> str:
    options = arguments.get("options") if isinstance(arguments, dict) else None
    return f"({' / '.join(options)}) > " if options else "> "
