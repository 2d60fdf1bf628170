"""Changes of a breaker's state: guarded updates on the database's clock, each with a line in the history."""

import logging
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from llm_app.breaker.rules import Thresholds
from llm_app.models import BreakerChange, BreakerState, CircuitBreaker, Provider
from llm_app.models.provider import probe_is_due

logger = logging.getLogger(__name__)


def breaker_of(provider: Provider) -> CircuitBreaker:
    """The breaker as it was read with its provider; a closed one where there is no row yet."""
    return getattr(provider, "circuit_breaker", None) or CircuitBreaker(provider=provider)


def open_(seen: CircuitBreaker, reason: str, *, key_refused: bool = False) -> bool:
    """No calls until the cooldown is over. False, here and below: the breaker has changed since it was read."""
    probe_at = _in(Thresholds.from_json(seen.provider.breaker).cooldown_s)
    return _change(seen, BreakerState.OPEN, reason, probe_at=probe_at, key_refused=key_refused)


def take_probe(seen: CircuitBreaker) -> bool:
    """Whether this call is the one that probes. If it dies, another may probe once its attempt would have timed out."""
    reason = "The cooldown is over." if seen.state == BreakerState.OPEN else "The last probe never came back."
    is_due, end = probe_is_due(), _in(seen.provider.total_timeout_s)
    return _change(seen, BreakerState.HALF_OPEN, reason, is_due, probe_at=end, key_refused=seen.key_refused)


def give_probe_back(seen: CircuitBreaker) -> bool:
    """The next call may probe at once."""
    return _change(seen, BreakerState.OPEN, "The probe was interrupted.", probe_at=Now(), key_refused=seen.key_refused)


def close(seen: CircuitBreaker, reason: str) -> bool:
    return _change(seen, BreakerState.CLOSED, reason)


def force(provider: Provider, state: BreakerState, by: Any) -> None:
    """By an administrator: the state stays until it is reset."""
    _order(provider, state, f"Forced {state.label}.", by, forced=True)


def reset(provider: Provider, by: Any = None, reason: str = "Reset.") -> None:
    """Closes it, ignores the calls so far, and makes it automatic again."""
    _order(provider, BreakerState.CLOSED, reason, by)


def give_new_chance(provider: Provider, by: Any = None, reason: str = "Its settings were changed.") -> None:
    """Close an open breaker: earlier failures no longer count. A breaker that an administrator forced stays."""
    if CircuitBreaker.objects.filter(provider=provider, forced=False).exclude(state=BreakerState.CLOSED).exists():
        reset(provider, by, reason)


def _order(provider: Provider, state: BreakerState, reason: str, by: Any, **fields: Any) -> None:
    """Whatever its state is now: the calls that would change it meanwhile wait for the lock, and come too late."""
    with transaction.atomic():
        CircuitBreaker.objects.get_or_create(provider=provider)
        seen = CircuitBreaker.objects.select_for_update(of=("self",)).select_related("provider").get(provider=provider)
        _change(seen, state, reason, by=by, **fields)


def _change(seen: CircuitBreaker, to: BreakerState, reason: str, *conditions: Q, by: Any = None, **fields: Any) -> bool:
    """One guarded update, and its line in the history."""
    unset: dict[str, Any] = {"forced": False, "key_refused": False, "probe_at": None}
    with transaction.atomic():
        if seen._state.adding:
            CircuitBreaker.objects.get_or_create(provider=seen.provider)
        changed = CircuitBreaker.objects.filter(*conditions, pk=seen.pk, epoch=seen.epoch).update(
            **unset | fields, state=to, reason=reason, changed_at=Now(), epoch=F("epoch") + 1
        )
        if changed:
            BreakerChange.objects.create(provider=seen.provider, before=seen.state, after=to, reason=reason, by=by)
    if changed:
        level = logging.ERROR if fields.get("key_refused") else logging.WARNING
        line = f"provider {seen.provider}: breaker {seen.state} → {to.value}. {reason}"
        transaction.on_commit(lambda: logger.log(level, line))
        seen.state, seen.epoch = to, seen.epoch + 1
    return bool(changed)


def _in(seconds: float) -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())
