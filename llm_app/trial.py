"""A trial: one tiny call with a fixed prompt, so that an administrator sees whether a provider works."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_app import errors, faults, kept_prompt
from llm_app.attempt import Attempt
from llm_app.call import LLMCall, Recipient, Runner, StoredPrompt
from llm_app.models import LLMLog, Provider, Route
from llm_app.retry import Action
from llm_app.types import Delta, Message, Prompt, Purpose, ToolSpec

SILENCE = 20.0  # seconds; an administrator waits for the page
TOTAL = 60.0  # seconds
_MOST = 5  # models; more would only cost
_WORD = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_PROMPT = Prompt(
    system="You are asked whether you are there.",
    tools=[ToolSpec(name="message", description="Says a word.", parameters=_WORD)],
    messages=[Message(role="user", content="Call the tool message with the text ok, and do nothing else.")],
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How it went with one model, in words for administrators."""

    ok: bool
    sentence: str


def run_trial(provider: Provider, run: Runner) -> Iterator[Outcome]:
    """Tries each model that is routed to the provider, until it is clear that the provider itself is at fault.

    It goes past the breaker and is no evidence for it: only people are told.
    """
    for route in _targets(provider):
        try:
            log = _call(route, run)
        except errors.LLMError as error:
            yield Outcome(ok=False, sentence=f"{provider}, {route.provider_model}: {faults.explain(error, route)}")
            if not isinstance(error, errors.BadRequest | errors.ModelNotFound):
                return
        else:
            seconds = log.duration_ms / 1000
            yield Outcome(ok=True, sentence=f"{provider}, {route.provider_model}: It works ({seconds:.1f} s).")


def _targets(provider: Provider) -> list[Route]:
    """One route for each of its models, the first in priority; the provider is patient for a trial's time only."""
    provider.timeout_s = min(provider.timeout_s, SILENCE)
    provider.total_timeout_s = min(provider.total_timeout_s, TOTAL)
    routes = {}
    for route in provider.routes.select_related("model").order_by("-priority", "-pk"):
        route.provider = provider
        routes[route.provider_model] = route
    return list(routes.values())[::-1][:_MOST]


def _call(route: Route, run: Runner) -> LLMLog:
    call = LLMCall(purpose=Purpose.TEST, prompt_for=_prompt_for, model=route.model.name)
    completion = Attempt(call, route, 1, _Nobody()).run(run)
    completion.log.save()
    return completion.log


def _prompt_for(recipient: Recipient) -> StoredPrompt:
    return kept_prompt.keep(_PROMPT)


class _Nobody:
    """Nobody watches a trial."""

    def attempt(self) -> None: ...

    def delta(self, delta: Delta) -> None: ...

    def failed(self, error: errors.LLMError, then: Action, delay: float) -> None: ...

    def waiting(self, why: str) -> None: ...

    def used(self, log: LLMLog) -> None: ...
