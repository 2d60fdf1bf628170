"""The only way to call a provider: routes by priority, retries, failover, and a log of every attempt."""

import asyncio
import logging
from collections.abc import Iterable

from llm_app import errors
from llm_app.breaker.gate import Gate
from llm_app.call.attempt import ask
from llm_app.call.llm_call import Completion, LLMCall, Observer
from llm_app.call.retry import Action, RetryDecision, decide_retry
from llm_app.models import Route
from llm_app.transport.waiting import Runner

logger = logging.getLogger(__name__)
_UNREACHABLE = (
    errors.ConnectionFailed,
    errors.ProviderTimeout,
    errors.ServerError,
    errors.StreamCut,
    errors.Overloaded,
    errors.CircuitOpen,
)


def complete(call: LLMCall, *, observer: Observer, run: Runner) -> Completion:
    """Tries the routes of the model until one answers. Raises LLMError, or whatever `run` raises.

    ContextTooLong comes after one attempt: a caller that can shorten the prompt may call again.
    """
    routes = [route for route in _usable(call) if route.takes_images or not call.needs_sight]
    if not routes:
        raise _without_route(call)
    failures: list[errors.LLMError] = []
    for position, route in enumerate(routes, 1):
        has_next = any(Gate(other).is_passable for other in routes[position:])
        attempts = _Attempts(call, route, has_next=has_next, observer=observer, run=run)
        if completion := attempts.until_answered(failures):
            return completion
    raise _verdict(failures) from failures[-1]


def _usable(call: LLMCall) -> Iterable[Route]:
    if call.routes is not None:
        return call.routes.now()
    return Route.objects.usable_for(call.model, call.user_id, call.task_id)


class _Attempts:
    """All attempts on one route."""

    def __init__(self, call: LLMCall, route: Route, *, has_next: bool, observer: Observer, run: Runner) -> None:
        self._call, self._route, self._has_next = call, route, has_next
        self._observer, self._run = observer, run
        self._overload: errors.Overloaded | None = None

    def until_answered(self, failures: list[errors.LLMError]) -> Completion | None:
        """None if another route is to be tried; adds each failure. Raises an error that no other route would avoid."""
        number = 0
        while not failures or self._is_usable():
            number += 1
            gate = Gate(self._route)
            try:
                with gate.passage():
                    return ask(self._call, self._route, number, self._observer, self._run)
            except errors.LLMError as error:
                failures.append(error)
                decision = self._decide(error, number, gate)
                if decision.action is Action.FAIL:
                    raise
            if decision.action is not Action.RETRY:
                break
            self._run(asyncio.sleep(decision.delay))
        return None

    def _decide(self, error: errors.LLMError, number: int, gate: Gate) -> RetryDecision:
        """An open breaker ends the attempts; only an overload is waited out, by attempts that send nothing."""
        was_sent = not isinstance(error, errors.CircuitOpen)
        if was_sent:
            self._overload = error if isinstance(error, errors.Overloaded) else None
        reason = self._overload or (errors.CircuitOpen() if gate.has_opened else error)
        decision = decide_retry(reason, number, has_next_route=self._has_next)
        if was_sent:
            logger.warning("%s, attempt %d: %s; %s", self._route, number, error, decision.action.value)
            self._observer.failed(error, decision.action, decision.delay)
        return decision

    def _is_usable(self) -> bool:
        """Reads the route and its breaker again: others may have failed in the meantime, or an administrator acted."""
        call = self._call
        usable = Route.objects.usable_for(call.model, call.user_id, call.task_id)
        route = usable.filter(pk=self._route.pk).first()
        self._route = route or self._route
        return route is not None


def _without_route(call: LLMCall) -> errors.LLMError:
    is_open = Route.objects.usable_for(call.model, call.user_id).exists()
    if not is_open and Route.objects.usable_for(call.model).exists():
        return errors.ModelNotAllowed(call.model)
    return errors.NoRoute(call.model)


def _verdict(failures: list[errors.LLMError]) -> errors.LLMError:
    """What all failures together mean."""
    detail = failures[-1].detail
    if all(_is_refused_key(error) for error in failures):
        return errors.AuthenticationFailed(detail)
    for kind in (errors.ModelNotFound, errors.ProtocolUnavailable):
        if all(isinstance(error, kind) for error in failures):
            return kind(detail)
    has_unreadable = any(isinstance(error, errors.UnreadableReply) for error in failures)
    if has_unreadable and not any(isinstance(error, _UNREACHABLE) for error in failures):
        return errors.UnreadableReply(detail)
    return errors.ProviderUnavailable(detail)


def _is_refused_key(error: errors.LLMError) -> bool:
    """Also where the breaker is open because of it."""
    return isinstance(error, errors.AuthenticationFailed) or (
        isinstance(error, errors.CircuitOpen) and error.key_refused
    )
