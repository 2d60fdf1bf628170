"""The only client of providers: it tries routes by priority, retries, and logs every attempt."""

import asyncio
import logging

from llm_app import errors
from llm_app.breaker.guard import AttemptGuard
from llm_app.call.attempt import ask
from llm_app.call.llm_call import Completion, LLMCall, Observer
from llm_app.call.retry import Action, RetryDecision, decide_retry
from llm_app.models import Route
from llm_app.types import Runner

logger = logging.getLogger(__name__)
_HAS_OWN_REASON = (  # errors that a person or an administrator can do something about
    errors.AccessDenied,
    errors.AllowanceSpent,
    errors.AllowanceSpentUntil,
    errors.AuthenticationFailed,
    errors.ModelNotFound,
    errors.NoCredit,
    errors.OverloadedUntil,
    errors.ProtocolUnavailable,
    errors.RegionUnsupported,
    errors.ToolsUnsupported,
    errors.UnreadableReply,
)


def complete(call: LLMCall, *, observer: Observer, run: Runner) -> Completion:
    """Try the routes of the model until one answers.

    Raises: LLMError, or the exception that interrupts a wait of `run`. ContextTooLong is raised after one attempt, so
    that the caller can shorten the prompt and call again.
    """
    if call.routes is not None:
        routes = call.routes.current_routes()
    else:
        routes = list(Route.objects.usable_for(call.model, call.user_id, call.task_id))
    if call.needs_sight:
        routes = [route for route in routes if route.takes_images]
    if not routes:
        raise _no_route_error(call)
    failures: list[errors.LLMError] = []
    last_of_routes: list[errors.LLMError] = []
    for position, route in enumerate(routes, 1):
        was_refused, count = _refusal_among(failures) is not None, len(failures)
        has_next = not was_refused and any(AttemptGuard(other).allows_calls for other in routes[position:])
        attempts = _RouteAttempts(call, route, has_next=has_next, observer=observer, run=run)
        if completion := attempts.until_answered(failures):
            return completion
        last_of_routes += failures[count:][-1:]
        if was_refused:  # by the route before; another filter was asked once
            break
    raise _combined_error(last_of_routes) from failures[-1]


class _RouteAttempts:
    """The attempts on one route."""

    def __init__(self, call: LLMCall, route: Route, *, has_next: bool, observer: Observer, run: Runner) -> None:
        self._call, self._route, self._has_next = call, route, has_next
        self._observer, self._run = observer, run
        self._overload: errors.Overloaded | None = None

    def until_answered(self, failures: list[errors.LLMError]) -> Completion | None:
        """Return the completion, or None if the next route should be tried. Each failure is added to `failures`.

        Raises: an error that every other route would raise, too.
        """
        number = 0
        while not failures or self._reload_route():
            number += 1
            guard = AttemptGuard(self._route)
            try:
                with guard.around_attempt():
                    return ask(self._call, self._route, number, self._observer, self._run)
            except errors.LLMError as error:
                failures.append(error)
                decision = self._decide(error, number, guard)
                if decision.action is Action.FAIL:
                    if refusal := _refusal_among(failures[:-1]):
                        raise refusal from error
                    raise
            if decision.action is not Action.RETRY:
                break
            self._run(asyncio.sleep(decision.delay))
        return None

    def _decide(self, error: errors.LLMError, number: int, guard: AttemptGuard) -> RetryDecision:
        """Decide how to continue after an error. Only overload is waited out; an open breaker ends the attempts.

        While the breaker is open, attempts send nothing.
        """
        was_sent = not isinstance(error, errors.CircuitOpen)
        if was_sent:
            self._overload = error if isinstance(error, errors.Overloaded) else None
        reason = self._overload or (errors.CircuitOpen() if guard.is_open else error)
        decision = decide_retry(reason, number, has_next_route=self._has_next)
        if was_sent:
            logger.warning("%s: attempt %d failed: %s (next: %s)", self._route, number, error, decision.action.value)
            self._observer.failed(error, decision.action, decision.delay)
        return decision

    def _reload_route(self) -> bool:
        """Read the route and its breaker again, and return whether the route can be used.

        Other calls may have failed since, or an administrator may have changed the settings.
        """
        call = self._call
        usable = Route.objects.usable_for(call.model, call.user_id, call.task_id)
        route = usable.filter(pk=self._route.pk).first()
        self._route = route or self._route
        return route is not None


def _no_route_error(call: LLMCall) -> errors.LLMError:
    is_allowed = Route.objects.usable_for(call.model, call.user_id).exists()
    if not is_allowed and Route.objects.usable_for(call.model).exists():
        return errors.ModelNotAllowed(call.model)
    return errors.NoRoute(call.model)


def _combined_error(failures: list[errors.LLMError]) -> errors.LLMError:
    """Return the error that sums up the last failure of each route."""
    newest = failures[-1]
    if refusal := _refusal_among(failures):
        return errors.ContentRefused(refusal.detail)
    kinds = {_kind_of(error) for error in failures}
    if not any(kind in _HAS_OWN_REASON for kind in kinds):
        return errors.ProviderUnavailable(newest.detail)
    if len(kinds) > 1:
        reasons = {(error.provider, error.sentence): error for error in failures}
        return errors.ProviderUnavailable(newest.detail, reasons=list(reasons.values()))
    soonest = min(failures, key=lambda error: error.retry_after or 0.0)
    return soonest.repeated() if kinds == {type(soonest)} else errors.AuthenticationFailed(newest.detail)


def _refusal_among(failures: list[errors.LLMError]) -> errors.ContentRefused | None:
    """Return the first refusal of a filter. It remains the reason if another route fails, too."""
    return next((failure for failure in failures if isinstance(failure, errors.ContentRefused)), None)


def _kind_of(error: errors.LLMError) -> type[errors.LLMError]:
    """Return the kind of an error: a breaker that opened because of a rejected key stands for that rejection."""
    is_rejected_key = isinstance(error, errors.CircuitOpen) and error.key_refused
    return errors.AuthenticationFailed if is_rejected_key else type(error)
