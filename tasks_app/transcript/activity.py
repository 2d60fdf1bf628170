"""What an agent does between two messages: its calls, one after the other, as one group with one line."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from django.utils.translation import get_language

from tasks_app.models import CallStatus, ContextEntry, ContextType
from tasks_app.transcript.item import Item
from tasks_app.transcript.phrases import Phrase, activity_line, phrase_of, phrase_of_call

STEPS = (
    *(ContextType.TOOL_CALL, ContextType.TOOL_RESULT, ContextType.NO_TOOL_CALL_RETRY),
    *(ContextType.SYSTEM_REMINDER, ContextType.WORKFLOW_STEP, ContextType.STATUS_NOTICE),
)
_NOT_DONE = (CallStatus.FAILED, CallStatus.BLOCKED, CallStatus.REJECTED)


def is_step(entry: ContextEntry) -> bool:
    """Whether it belongs to what is done between messages. How a task failed is a message."""
    return entry.context_type in STEPS and not entry.metadata.get("code")


@dataclass(frozen=True, kw_only=True)
class _Step:
    """A call. What is known of its result is kept beside the item, which may be made anew from the call alone."""

    item: Item
    status: str
    has_run: bool
    is_amiss: bool
    phrases: dict[str | None, Phrase] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Item) -> "_Step":
        return cls(item=item, status=item.status, has_run=item.has_run, is_amiss=item.is_amiss)

    @property
    def phrase(self) -> Phrase:
        """What it did, in the language of the moment."""
        if (language := get_language()) not in self.phrases:
            make = phrase_of if self.has_run else phrase_of_call
            self.phrases[language] = make(self.item.call["name"], self.item.arguments)
        return self.phrases[language]


class Activity:
    """Steps in a row, as they come: what their calls did in a line, how many went wrong, and why they were made."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._steps: dict[str, _Step] = {}
        for item in items:
            self.take(item)

    def take(self, item: Item) -> None:
        """A new step, or one that has its result now."""
        if item.entry.tool_call:
            self._steps[item.call["id"]] = _Step.of(item)

    def retake(self, redacted: Callable[[ContextEntry], ContextEntry]) -> None:
        """Without what has become a secret since."""
        for call_id, step in list(self._steps.items()):
            if (entry := redacted(step.item.entry)) is not step.item.entry:
                self._steps[call_id] = replace(step, item=Item(entry=entry), phrases={})

    @property
    def line(self) -> str:
        """What has failed, or was not let run, was not done: it is named only where there is nothing else."""
        steps = list(self._steps.values())
        done = [step for step in steps if step.has_run or step.status not in _NOT_DONE]
        return activity_line([step.phrase for step in done or steps])

    @property
    def amiss(self) -> int:
        """How many calls failed, were refused, or have an outcome that nobody knows."""
        return sum(step.is_amiss for step in self._steps.values())

    @property
    def rejected(self) -> int:
        """How many calls people did not let run."""
        return sum(step.status == CallStatus.REJECTED for step in self._steps.values())

    @property
    def why(self) -> str:
        """What the agent said beside the newest call beside which it said something."""
        return next((words for step in reversed(self._steps.values()) if (words := step.item.words)), "")


@dataclass(frozen=True, kw_only=True)
class Group:
    """Items of a page that stand together; with an `activity` where they are steps."""

    items: Sequence[Item]
    activity: Activity | None

    @property
    def id(self) -> str:
        return f"g{self.items[0].entry.seq}"


def groups_of(items: Iterable[Item]) -> list[Group]:
    runs = [(steps, list(run)) for steps, run in groupby(items, key=lambda item: is_step(item.entry))]
    return [Group(items=run, activity=Activity(run) if steps else None) for steps, run in runs]
