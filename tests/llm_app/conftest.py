"""Calls through the client, without a task."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from typing import Any, TypeVar

import pytest
from django.db.models.functions import Now

from llm_app.call import Action, LLMCall, References, Runner, StoredPrompt, TargetModel, client
from llm_app.errors import LLMError
from llm_app.models import CircuitBreaker, LLMLog, LogicalModel
from llm_app.redaction import Redactor
from llm_app.transport.waiting import ready_descriptors
from llm_app.types import Delta, Message, Prompt, Purpose
from tasks_app.runtime import event_loop
from tests import factories, provider

T = TypeVar("T")


class Watcher:
    """An observer that records its notifications, such as ("ServerError", Action.RETRY, 0.5)."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, Action, float]] = []
        self.adaptions: list[str] = []

    def attempt(self, provider: str, silence_s: float) -> None:
        pass

    def delta(self, delta: Delta) -> None:
        pass

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        self.failures.append((type(error).__name__, then, delay))

    def adapted(self, sentence: str) -> None:
        self.adaptions.append(sentence)

    def waiting(self, why: str) -> None:
        pass

    def used(self, log: LLMLog) -> None:
        pass


def prompt_for(recipient: TargetModel) -> StoredPrompt:
    prompt = Prompt(system="Be brief.", tools=(), messages=[Message(role="user", content="Hello.")])
    return StoredPrompt(prompt=prompt, references=References())


class Impatient:
    """A runner that skips the sleep before a retry.

    `before` is called before each wait with its kind: "sleep", "wait", …
    """

    def __init__(self, before: Callable[[str], object] = bool) -> None:
        self._before = before

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        with closing(work):
            self._before(work.__name__)
            return None if work.__name__ == "sleep" else event_loop.submit(work).result(20)  # type: ignore[return-value]

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        self._before("wait")
        return bool(ready_descriptors(seconds, {descriptor: events}))


class Interrupted(Exception):
    """The interruption of a call, like that of a stopped task."""


def interrupted(wait: str) -> None:
    """Return a runner that is interrupted before anything is sent."""
    raise Interrupted


def complete(model: LogicalModel, watcher: Watcher | None = None, run: Runner | None = None, **fields: Any) -> str:
    """Make one call and save its log, like the engine. Return the text of the answer.

    Raises: LLMError.
    """
    fields = {"prompt_for": prompt_for} | fields
    call = LLMCall(purpose=Purpose.STEP, model=model.name, redactor=Redactor([]), **fields)
    completion = client.complete(call, observer=watcher or Watcher(), run=run or Impatient())
    completion.save()
    return completion.result.content


def cooldown_is_over() -> None:
    CircuitBreaker.objects.update(probe_at=Now())


@pytest.fixture
def servers() -> Iterator[list[provider.FakeProvider]]:
    """Three providers over real HTTP."""
    with provider.running() as first, provider.running() as second, provider.running() as third:
        yield [first, second, third]


@pytest.fixture
def model(db: None, servers: list[provider.FakeProvider]) -> LogicalModel:
    """A model answered by the first of `servers`. Its breaker opens after two failures."""
    return routed(servers[:1])


def routed(servers: list[provider.FakeProvider], **breaker: Any) -> LogicalModel:
    """Return a model with routes to the given servers, in their order."""
    model: LogicalModel = factories.LogicalModelFactory()
    for priority, server in enumerate(servers, 1):
        row = factories.ProviderFactory(
            protocol="openai_native",
            base_url=server.base_url,
            api_key="sk-a-key",
            timeout_s=5,
            breaker={"min_calls": 2, "window": 4} | breaker,
        )
        factories.RouteFactory(model=model, provider=row, priority=priority)
    return model
