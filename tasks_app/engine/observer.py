"""Watches an LLM call: streams what a person may see, and keeps in the record what came of failed attempts."""

from llm_app.call.llm_call import Observer
from llm_app.call.retry import Action
from llm_app.errors import LLMError, Overloaded
from llm_app.models import LLMLog
from llm_app.types import Delta, DeltaKind, Thinking
from tasks_app.events.live_stream import LiveStream
from tasks_app.models import ContextType
from tasks_app.record import Draft, notice
from tasks_app.run import TaskContext

_GOES_ON = (Action.RETRY, Action.NEXT_ROUTE)


class LLMObserver(Observer):
    """`delta` is called on the event loop, the rest on the task's thread."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._noticed = False
        self.stream = self._new_stream()

    def attempt(self) -> None:
        self.stream = self._new_stream()

    def delta(self, delta: Delta) -> None:
        is_held = delta.kind is DeltaKind.TEXT and self._context.settings.filters_output
        if delta.kind is not DeltaKind.CONTENT and not is_held:
            self.stream.feed(delta.kind, delta.text)

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        """Keeps the partial as a discarded entry, and says once that something is in the way."""
        self.stream.withdraw()
        drafts = self._partial(discarded=True)
        self.stream = self._new_stream()  # what is kept already is not kept again if a person ends the wait
        if then in _GOES_ON and not self._noticed and (drafts or _is_worth_saying(error, then)):
            self._noticed = True
            drafts.append(notice(_words(error, then, delay)))
        if drafts:
            self._context.commit(*drafts)

    def waiting(self, why: str) -> None:
        self._context.commit(notice(why))

    def used(self, log: LLMLog) -> None:
        self._context.calls.stored(log)

    def interrupted(self) -> list[Draft]:
        """The words that a person had seen when they cut them short; they stay in the context."""
        return self._partial(discarded=False) if self.stream.text(DeltaKind.TEXT) else []

    def _partial(self, *, discarded: bool) -> list[Draft]:
        text, thought = self.stream.text(DeltaKind.TEXT), self.stream.text(DeltaKind.THINKING)
        if not text and not thought:
            return []
        partial = Draft(
            context_type=ContextType.AI_MESSAGE,
            content=text,
            thinking=Thinking(text=thought) if thought else None,
            metadata={"status": "interrupted", "stream": self.stream.id},
            discarded=discarded,
        )
        return [partial]

    def _new_stream(self) -> LiveStream:
        return LiveStream(self._context.session.group, self._context.task.id, self._context.secrets.redactor)


def _is_worth_saying(error: LLMError, then: Action) -> bool:
    return isinstance(error, Overloaded) or then is Action.NEXT_ROUTE


def _words(error: LLMError, then: Action, delay: float) -> str:
    if then is Action.NEXT_ROUTE:
        return f"{error.sentence} Another provider takes over."
    return f"{error.sentence} Trying again in {delay:.0f} s." if delay >= 1 else f"{error.sentence} Trying again."
