"""The registry of effect handlers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import models

from llm_app.redaction import Redactor
from tasks_app.models import Task, TaskState
from tasks_app.record import Draft
from tasks_app.run import Failed
from tasks_app.run.open_call import OpenCall
from tools_app.contract import Effect

E = TypeVar("E", bound=Effect)


@dataclass(kw_only=True)
class Changes:
    """Additions of a call's effects to the transaction of its result.

    `drafts` come after the result. `extra_writes` run in the same transaction. A `failure` ends the task.
    """

    task: Task
    call: OpenCall
    redactor: Redactor
    state: TaskState = TaskState.THINKING
    drafts: list[Draft] = field(default_factory=list)
    rows: list[models.Model] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    extra_writes: list[Callable[[], object]] = field(default_factory=list)
    failure: Failed | None = None


Handler = Callable[[E, Changes], None]
_handlers: dict[type[Effect], Handler[Any]] = {}


def handles(effect: type[E]) -> Callable[[Handler[E]], Handler[E]]:
    """Register the decorated function as the handler of a type of effect."""

    def register(handler: Handler[E]) -> Handler[E]:
        assert effect not in _handlers, f"{effect.__name__} has two handlers"
        _handlers[effect] = handler
        return handler

    return register


def apply(effects: Iterable[Effect], changes: Changes) -> Changes:
    """Collect the changes that follow from the effects.

    Raises: ReplyNeeded or ChildrenNeeded if the call waits instead of having a result, Refused.
    """
    for effect in effects:
        _handlers[type(effect)](effect, changes)
    return changes


def check_handlers() -> None:
    """Raise TypeError if a tool could declare an effect without a handler."""
    unhandled = sorted(effect.__name__ for effect in set(Effect.__subclasses__()) - _handlers.keys())
    if unhandled:
        raise TypeError(f"no handler in tasks_app.engine.effects for {', '.join(unhandled)}")
