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


def open_breaker(breaker: CircuitBreaker, reason: str, *, key_refused: bool = False) -> bool:
    """Stop calls until the cooldown ends. Return False, as below, if the breaker has changed since it was read."""
    probe_at = _seconds_from_now(Thresholds.from_json(breaker.provider.breaker).cooldown_s)
    return _change(breaker, BreakerState.OPEN, reason, probe_at=probe_at, key_refused=key_refused)


def claim_probe(breaker: CircuitBreaker) -> bool:
    """Make this call the probe. If its worker dies, another call may probe after the timeout of an attempt."""
    reason = "The cooldown is over." if breaker.state == BreakerState.OPEN else "The last probe never came back."
    is_due, end = probe_is_due(), _seconds_from_now(breaker.provider.total_timeout_s)
    return _change(breaker, BreakerState.HALF_OPEN, reason, is_due, probe_at=end, key_refused=breaker.key_refused)


def release_probe(breaker: CircuitBreaker) -> bool:
    """Allow the next call to probe immediately."""
    return _change(
        breaker, BreakerState.OPEN, "The probe was interrupted.", probe_at=Now(), key_refused=breaker.key_refused
    )


def close_breaker(breaker: CircuitBreaker, reason: str) -> bool:
    return _change(breaker, BreakerState.CLOSED, reason)


def force(provider: Provider, state: BreakerState, by: Any) -> None:
    """Set a state that stays until an administrator resets it."""
    _set_state(provider, state, f"Forced {state.label}.", by, forced=True)


def reset(provider: Provider, by: Any = None, reason: str = "Reset.") -> None:
    """Close the breaker, ignore earlier calls, and make it automatic again."""
    _set_state(provider, BreakerState.CLOSED, reason, by)


def reset_unless_forced(provider: Provider, by: Any = None, reason: str = "Its settings were changed.") -> None:
    """Close an open breaker: earlier failures no longer count. A breaker that an administrator forced stays."""
    if CircuitBreaker.objects.filter(provider=provider, forced=False).exclude(state=BreakerState.CLOSED).exists():
        reset(provider, by, reason)


def _set_state(provider: Provider, state: BreakerState, reason: str, by: Any, **fields: Any) -> None:
    """Change the state unconditionally. Concurrent changes by calls wait for the lock, and then no longer apply."""
    with transaction.atomic():
        CircuitBreaker.objects.get_or_create(provider=provider)
        locked = CircuitBreaker.objects.select_for_update(of=("self",)).select_related("provider")
        breaker = locked.get(provider=provider)
        _change(breaker, state, reason, by=by, **fields)


def _change(
    breaker: CircuitBreaker, state: BreakerState, reason: str, *conditions: Q, by: Any = None, **fields: Any
) -> bool:
    """Make a guarded update and add its history row."""
    unset: dict[str, Any] = {"forced": False, "key_refused": False, "probe_at": None}
    with transaction.atomic():
        if breaker._state.adding:
            CircuitBreaker.objects.get_or_create(provider=breaker.provider)
        changed = CircuitBreaker.objects.filter(*conditions, pk=breaker.pk, epoch=breaker.epoch).update(
            **unset | fields, state=state, reason=reason, changed_at=Now(), epoch=F("epoch") + 1
        )
        if changed:
            BreakerChange.objects.create(
                provider=breaker.provider, before=breaker.state, after=state, reason=reason, by=by
            )
    if changed:
        level = logging.ERROR if fields.get("key_refused") else logging.WARNING
        line = f"provider {breaker.provider}: breaker {breaker.state} → {state.value}. {reason}"
        transaction.on_commit(lambda: logger.log(level, line))
        breaker.state, breaker.epoch = state, breaker.epoch + 1
    return bool(changed)


def _seconds_from_now(seconds: float) -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())
