"""The observer of an LLM call: streams text to people, and records failed attempts."""

from llm_app.call import Action, Observer
from llm_app.errors import LLMError, Overloaded
from llm_app.models import LLMLog
from llm_app.types import Delta, DeltaKind, Thinking
from tasks_app.models import ContextType
from tasks_app.record import Draft, notice
from tasks_app.run import UnitOfWork
from tasks_app.runtime import cancellation
from tasks_app.runtime.live_stream import LiveStream

_GOES_ON = (Action.RETRY, Action.NEXT_ROUTE)


class LLMObserver(Observer):
    """An observer of one iteration's LLM calls.

    Unless `streams_text`, a message and the words next to a call are shown only once they are recorded.
    """

    def __init__(self, unit: UnitOfWork, *, streams_text: bool) -> None:
        self._unit, self._streams_text, self._has_reported = unit, streams_text, False
        self.failed_call = ""  # the id of the newest call without an answer
        self.stream = self._new_stream()

    def attempt(self, provider: str, silence_s: float) -> None:
        cancellation.begin_provider_wait(self._unit.task.id, provider, silence_s)
        if self.stream.has_begun:
            self.stream = self._new_stream()

    def delta(self, delta: Delta) -> None:
        if delta.kind is DeltaKind.THINKING or self._streams_text:
            self.stream.feed(delta.kind, delta.text)

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        """Record the partial reply as a discarded entry, and report the problem to people, once."""
        cancellation.end_provider_wait(self._unit.task.id)
        drafts = self._discard_stream()
        is_worth_reporting = drafts or isinstance(error, Overloaded) or then is Action.NEXT_ROUTE
        if then in _GOES_ON and not self._has_reported and is_worth_reporting:
            self._has_reported = True
            drafts.append(notice(_notice_text(error, then, delay), llm_call=self.failed_call))
        if drafts:
            self._unit.commit(*drafts)

    def adapted(self, sentence: str) -> None:
        self._unit.commit(*self._discard_stream(), notice(sentence, llm_call=self.failed_call))

    def window_filled(self, log: LLMLog) -> None:
        """Record an answer that is not used, because the window of the model was full before its end."""
        self.used(log)
        text = "The window of the model was full before its answer was complete."
        self._unit.commit(*self._discard_stream(), notice(text, llm_call=self.failed_call))

    def _discard_stream(self) -> list[Draft]:
        self.stream.withdraw()
        drafts = self._partial_reply(discarded=True)
        self.stream = self._new_stream()  # so that an interruption of the wait does not record the text again
        return drafts

    def waiting(self, reason: str) -> None:
        self._unit.commit(notice(reason))

    def used(self, log: LLMLog) -> None:
        self.failed_call = str(log.id)
        self._unit.calls.add_stored(log)

    def interrupted(self) -> list[Draft]:
        """Return the words that a person had seen before interrupting them. They stay in the context."""
        return self._partial_reply(discarded=False) if self._visible_text() else []

    def _visible_text(self) -> str:
        """Return the words next to a call, and the text of its message."""
        return "\n\n".join(filter(None, map(self.stream.text, (DeltaKind.WORDS, DeltaKind.TEXT))))

    def _partial_reply(self, *, discarded: bool) -> list[Draft]:
        text, thought = self._visible_text(), self.stream.text(DeltaKind.THINKING)
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
        return LiveStream(self._unit.session.group, self._unit.task.id, self._unit.secrets.redactor)


def _notice_text(error: LLMError, then: Action, delay: float) -> str:
    if then is Action.NEXT_ROUTE:
        return f"{error.sentence} Another provider takes over."
    return f"{error.sentence} Trying again in {delay:.0f} s." if delay >= 1 else f"{error.sentence} Trying again."
