"""The rows of limits: counters of spending, and reservations."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import F, QuerySet, Sum

from llm_app.budgets.amounts import Amount, Unit
from llm_app.budgets.limits import Counter, Limit, LimitState, limits_of
from llm_app.models import Budget, LLMLog, Reservation, Spending
from llm_app.models.budget import lease_end
from llm_app.models.log import UNPRICED

_ZERO = Amount(usd=Decimal(0))


def limit_states(limits: Sequence[Limit]) -> list[LimitState]:
    """Return the current state of limits without locks or writes. Two queries, and one more for each new counter."""
    counters = _counters(limits)
    spent = _spent(Spending.objects.filter(pk__in=counters))
    spent |= {key: _logged(counter) for key, counter in counters.items() if key not in spent}
    return _limit_states(limits, spent, _reserved(counters))


def locked_limit_states(limits: Sequence[Limit]) -> list[LimitState]:
    """Return the current state of limits, locked until the end of the transaction. Missing counters are created."""
    counters = _counters(limits)
    spent = _spent(_locked(counters))
    if missing := sorted(counters.keys() - spent.keys()):
        new_counters = [(key, _logged(counters[key])) for key in missing]
        rows = [Spending(key=key, usd=amount.usd or 0, tokens=amount.tokens) for key, amount in new_counters]
        Spending.objects.bulk_create(rows, ignore_conflicts=True)
        spent = _spent(_locked(counters))
    return _limit_states(limits, spent, _reserved(counters))


def lock(limits: Sequence[Limit]) -> None:
    """Lock the counters of limits until the end of the transaction."""
    len(_locked(_counters(limits)))


def recount(instance: Budget, **of_signal: Any) -> None:
    """Set the counters of a saved budget from the logs, including those of times without a limit."""
    counters = _counters([limit for limit in limits_of(instance, None, datetime.now(UTC)) if limit.counter.begin])
    with transaction.atomic():
        for row in _locked(counters):
            logged = _logged(counters[row.key])
            row.tokens, row.usd = max(row.tokens, logged.tokens), max(row.usd, logged.usd or 0)
            row.save()


def reserve(limits: Sequence[Limit], amount: Amount, *, allowance: UUID, task_id: UUID | None) -> None:
    """Reserve an amount in each counter, inside a transaction."""
    Reservation.objects.bulk_create(
        Reservation(
            spending_id=key,
            allowance=allowance,
            task_id=task_id,
            usd=amount.usd or 0,
            tokens=amount.tokens,
            expires_at=lease_end(),
        )
        for key in _counters(limits)
    )


def charge(limits: Sequence[Limit], amount: Amount) -> None:
    """Add an amount to each counter, inside a transaction."""
    keys = list(_counters(limits))
    if len(keys) > 1:
        len(_locked(keys))
    Spending.objects.filter(pk__in=keys).update(tokens=F("tokens") + amount.tokens, usd=F("usd") + (amount.usd or 0))


def _counters(limits: Sequence[Limit]) -> dict[str, Counter]:
    return {limit.counter.key: limit.counter for limit in limits}


def _locked(keys: Iterable[str]) -> "QuerySet[Spending]":
    """Lock counters in one order, so that two transactions never wait for each other.

    SQLite has only one writer anyway.
    """
    return Spending.objects.select_for_update().filter(pk__in=list(keys)).order_by("pk")


def _spent(rows: "QuerySet[Spending]") -> dict[str, Amount]:
    return {row.key: Amount(tokens=row.tokens, usd=row.usd) for row in rows}


def unpriced_calls(limit: Limit) -> int:
    """Return the number of calls that a limit in US dollars does not count, because their model had no price."""
    return _logs(limit.counter).filter(UNPRICED).count() if limit.unit is Unit.USD else 0


def _logged(counter: Counter) -> Amount:
    """Return the logged cost. A counter starts with its period, even if its budget was created later."""
    tokens = Sum(F("input_tokens") + F("output_tokens"), default=0)
    return Amount(**_logs(counter).aggregate(tokens=tokens, usd=Sum("cost_usd", default=Decimal(0))))


def _logs(counter: Counter) -> "QuerySet[LLMLog]":
    logs = LLMLog.objects.all()
    if counter.begin is None:
        logs = logs.filter(task_id=counter.task_id) if counter.task_id else logs.none()
    else:
        logs = logs.filter(created_at__gte=counter.begin)
    if counter.user_id is not None:
        logs = logs.filter(user_id=counter.user_id)
    if counter.role_id is not None:
        members = get_user_model().members_of(counter.role_id)
        logs = logs.filter(user_id__in=members.values("pk"))
    return logs


def _reserved(keys: Iterable[str]) -> dict[str, Amount]:
    valid = Reservation.objects.alive().filter(spending__in=list(keys))
    sums = valid.values("spending").annotate(tokens=Sum("tokens"), usd=Sum("usd"))
    return {row["spending"]: Amount(tokens=row["tokens"], usd=row["usd"]) for row in sums}


def _limit_states(
    limits: Sequence[Limit], spent: Mapping[str, Amount], reserved: Mapping[str, Amount]
) -> list[LimitState]:
    return [
        LimitState(
            limit=limit,
            spent=spent[limit.counter.key].in_unit(limit.unit) or Decimal(0),
            reserved=reserved.get(limit.counter.key, _ZERO).in_unit(limit.unit) or Decimal(0),
        )
        for limit in limits
    ]
