"""Changes of a breaker's state: guarded updates by the database's clock, each with a history row."""

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
    """Return the breaker that was read with its provider; a closed one if it has no row."""
    return getattr(provider, "circuit_breaker", None) or CircuitBreaker(provider=provider)


def open_(seen: CircuitBreaker, reason: str, *, key_refused: bool = False) -> bool:
    """Stop calls until the cooldown ends. Return False, as below, if the breaker has changed since it was read."""
    probe_at = _in(Thresholds.from_json(seen.provider.breaker).cooldown_s)
    return _change(seen, BreakerState.OPEN, reason, probe_at=probe_at, key_refused=key_refused)


def take_probe(seen: CircuitBreaker) -> bool:
    """Make this call the probe. If its worker dies, another call may probe after the timeout of an attempt."""
    reason = "The cooldown is over." if seen.state == BreakerState.OPEN else "The last probe never came back."
    is_due, end = probe_is_due(), _in(seen.provider.total_timeout_s)
    return _change(seen, BreakerState.HALF_OPEN, reason, is_due, probe_at=end, key_refused=seen.key_refused)


def give_probe_back(seen: CircuitBreaker) -> bool:
    """Allow the next call to probe immediately."""
    return _change(seen, BreakerState.OPEN, "The probe was interrupted.", probe_at=Now(), key_refused=seen.key_refused)


def close(seen: CircuitBreaker, reason: str) -> bool:
    return _change(seen, BreakerState.CLOSED, reason)


def force(provider: Provider, state: BreakerState, by: Any) -> None:
    """Set a state that stays until an administrator resets it."""
    _order(provider, state, f"Forced {state.label}.", by, forced=True)


def reset(provider: Provider, by: Any = None, reason: str = "Reset.") -> None:
    """Close the breaker, ignore earlier calls, and make it automatic again."""
    _order(provider, BreakerState.CLOSED, reason, by)


def give_new_chance(provider: Provider, by: Any = None, reason: str = "Its settings were changed.") -> None:
    """Close an open breaker: earlier failures no longer count. A breaker that an administrator forced stays."""
    if CircuitBreaker.objects.filter(provider=provider, forced=False).exclude(state=BreakerState.CLOSED).exists():
        reset(provider, by, reason)


def _order(provider: Provider, state: BreakerState, reason: str, by: Any, **fields: Any) -> None:
    """Change the state unconditionally. Concurrent changes by calls wait for the lock, and then no longer apply."""
    with transaction.atomic():
        CircuitBreaker.objects.get_or_create(provider=provider)
        seen = CircuitBreaker.objects.select_for_update(of=("self",)).select_related("provider").get(provider=provider)
        _change(seen, state, reason, by=by, **fields)


def _change(seen: CircuitBreaker, to: BreakerState, reason: str, *conditions: Q, by: Any = None, **fields: Any) -> bool:
    """Make a guarded update and add its history row."""
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
