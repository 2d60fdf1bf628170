"""Reservations before calls and settlements after them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone

from llm_app.budgets import Allowance, CallSize, counters
from llm_app.budgets.limits import limits_for_call
from llm_app.errors import BudgetExceeded
from llm_app.models import Budget, LLMLog, Reservation, Spending

pytestmark = pytest.mark.django_db
SIZE = CallSize(request_bytes=300, max_tokens=100, price={"input": 1000, "output": 10_000})  # 200 tokens, 1.10 USD
USED = {"input_tokens": 50, "output_tokens": 10, "cost_usd": Decimal("0.15")}


def log(user=None, **fields):
    values = {"purpose": "step", "adapter": "x", "adapter_version": 1, "request_bytes": 1, "status": "succeeded"}
    return LLMLog(user_id=user and user.pk, **values | USED | fields)


def settle(allowance, **fields):
    with transaction.atomic():
        allowance.settle(log(**fields))


def standings(user, task_id=None):
    return {each.limit.counter.key: each for each in counters.limit_states(limits_for_call(user.pk, task_id))}


def today(user):
    return standings(user)[f"user {user.pk} {datetime.now(UTC):%Y-%m-%d}"]


def test_settling_replaces_the_reservation_by_the_cost(alice):
    Budget.objects.create(user=alice, tokens_per_day=1000)
    allowance = Allowance(alice.pk)
    assert allowance.reserve(SIZE) is None
    assert (today(alice).spent, today(alice).reserved, today(alice).left) == (0, 200, 800)
    settle(allowance)
    assert (today(alice).spent, today(alice).reserved, today(alice).left) == (60, 0, 940)


def test_a_call_counts_in_every_budget_once(alice):
    role, task = Group.objects.create(name="analysts"), uuid4()
    alice.groups.add(role)
    Budget.objects.create(user=alice, usd_per_day=10, tokens_per_day=1000, tokens_per_month=1000, tokens_per_task=1000)
    Budget.objects.create(role=role, usd_per_month=10, usd_per_task=10)
    Budget.objects.create(tokens_per_day=1000)
    allowance = Allowance(alice.pk, task)
    allowance.reserve(SIZE)
    assert {row.spending_id: (row.tokens, row.usd) for row in Reservation.objects.all()} == dict.fromkeys(
        standings(alice, task), (200, Decimal("1.1"))
    )
    settle(allowance)
    found = {row.key: (row.tokens, row.usd) for row in Spending.objects.all()}
    day, month = f"{datetime.now(UTC):%Y-%m-%d}", f"{datetime.now(UTC):%Y-%m}"
    keys = {
        f"user {alice.pk} {day}",
        f"user {alice.pk} {month}",
        f"role {role.pk} {month}",
        f"task {task}",
        f"all {day}",
    }
    assert found == dict.fromkeys(keys, (60, Decimal("0.15")))


def test_without_a_budget_nothing_is_written(alice, bob, django_assert_num_queries):
    Budget.objects.create(user=bob, tokens_per_day=0)
    allowance = Allowance(alice.pk, uuid4())
    with django_assert_num_queries(1):
        allowance.reserve(SIZE)
        allowance.settle(log())
        allowance.reserve_ahead(1000)
        allowance.reserve(SIZE)
        allowance.release()
    assert not Spending.objects.exists()


def test_a_spent_budget_rejects_calls_and_names_itself(alice):
    Budget.objects.create(user=alice, tokens_per_day=60)
    allowance = Allowance(alice.pk)
    allowance.reserve(SIZE)
    settle(allowance)
    with pytest.raises(
        BudgetExceeded, match=r"^The budget of the user alice, 60 tokens a day, is spent\. It is renewed on"
    ):
        allowance.reserve(SIZE)
    assert not Reservation.objects.exists()


def test_other_reservations_fill_a_limit_until_they_settle(alice):
    Budget.objects.create(tokens_per_day=300)
    first, second = Allowance(alice.pk), Allowance(None)
    assert first.reserve(SIZE) is None
    assert second.reserve(SIZE).limit.name == ""
    assert second.blocking_limit(SIZE) is not None
    settle(first)
    assert second.blocking_limit(SIZE) is None
    assert second.reserve(SIZE) is None


def test_a_waiting_call_holds_no_reservation(alice):
    """Otherwise two calls could wait for each other: both hold a part and need more than the rest."""
    Budget.objects.create(tokens_per_day=500)
    small = CallSize(request_bytes=0, max_tokens=200, price={})
    large = CallSize(request_bytes=0, max_tokens=400, price={})
    first, second = Allowance(alice.pk), Allowance(alice.pk)
    assert (first.reserve(small), second.reserve(small)) == (None, None)
    assert first.reserve(large) is not None
    assert second.reserve(large) is None


def test_a_free_attempt_releases_its_reservation(alice):
    Budget.objects.create(user=alice, tokens_per_day=1000)
    allowance = Allowance(alice.pk)
    allowance.reserve(SIZE)
    settle(allowance, input_tokens=0, output_tokens=0, cost_usd=None)
    assert (today(alice).spent, today(alice).reserved) == (0, 0)


def test_a_reservation_with_an_expired_lease_does_not_count(alice):
    Budget.objects.create(user=alice, tokens_per_day=300)
    Allowance(alice.pk, uuid4()).reserve(SIZE)
    assert Allowance(alice.pk).reserve(SIZE) is not None
    Reservation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Allowance(alice.pk).reserve(SIZE) is None


def test_a_reservation_lives_as_long_as_its_lease_is_renewed(alice):
    Budget.objects.create(user=alice, tokens_per_day=300)
    task = uuid4()
    Allowance(alice.pk, task).reserve(SIZE)
    Reservation.objects.update(expires_at=timezone.now() + timedelta(milliseconds=1))
    Reservation.objects.renew([task])
    assert Reservation.objects.get().expires_at > timezone.now() + timedelta(seconds=10)


# --- ahead ------------------------------------------------------------------------------------------------------


def test_a_reservation_ahead_serves_the_next_call_without_queries(alice, django_assert_num_queries):
    Budget.objects.create(user=alice, tokens_per_day=10_000)
    allowance = Allowance(alice.pk)
    allowance.reserve(SIZE)
    settle(allowance)
    allowance.reserve_ahead(600)
    ahead = today(alice).reserved
    with django_assert_num_queries(0):
        assert allowance.reserve(CallSize(request_bytes=300 + 600 + 200, max_tokens=100, price=SIZE.price)) is None
    assert today(alice).reserved == ahead
    assert allowance.reserve(CallSize(request_bytes=9000, max_tokens=100, price=SIZE.price)) is None
    assert today(alice).reserved == 3100


def test_a_changed_limit_applies_to_a_call_reserved_ahead(alice):
    Budget.objects.create(user=alice, tokens_per_day=10_000)
    allowance = Allowance(alice.pk)
    allowance.reserve(SIZE)
    settle(allowance)
    allowance.reserve_ahead(0)
    Budget.objects.update(tokens_per_day=60)
    allowance.refresh()
    with pytest.raises(BudgetExceeded):
        allowance.reserve(SIZE)
    Budget.objects.all().delete()
    allowance.refresh()
    assert allowance.reserve(SIZE) is None


def test_reserving_ahead_of_a_spent_limit_does_nothing(alice):
    Budget.objects.create(user=alice, tokens_per_day=60)
    allowance = Allowance(alice.pk)
    allowance.reserve(SIZE)
    settle(allowance)
    allowance.reserve_ahead(0)
    assert not Reservation.objects.exists()


# --- counters ---------------------------------------------------------------------------------------------------


def test_a_budget_counts_from_the_begin_of_its_period(alice, bob):
    role = Group.objects.create(name="analysts")
    alice.groups.add(role)
    for user, days in ((alice, 0), (alice, 40), (bob, 0)):
        row = log(user)
        row.save()
        LLMLog.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=days))
    Budget.objects.create(user=alice, tokens_per_day=1000)
    Budget.objects.create(role=role, tokens_per_day=1000)
    Budget.objects.create(tokens_per_day=1000)
    spent = [each.spent for each in counters.limit_states(limits_for_call(alice.pk, None))]
    assert spent == [60, 60, 120]
    Allowance(alice.pk).reserve(SIZE)
    assert {row.tokens for row in Spending.objects.all()} == {60, 120}
    LLMLog.objects.all().delete()
    assert [each.spent for each in counters.limit_states(limits_for_call(alice.pk, None))] == [60, 60, 120]


def test_spending_without_a_budget_counts_when_it_is_set_again(alice):
    budget = Budget.objects.create(user=alice, tokens_per_day=1000)
    for most in (1000, None, 1000):
        budget.tokens_per_day = most
        budget.save()
        allowance = Allowance(alice.pk)
        allowance.reserve(SIZE)
        with transaction.atomic():
            row = log(alice)
            row.save()
            allowance.settle(row)
    assert today(alice).spent == 3 * 60


def test_a_new_day_starts_at_zero(alice):
    Budget.objects.create(user=alice, tokens_per_day=60)
    allowance = Allowance(alice.pk)
    allowance.reserve(SIZE)
    settle(allowance)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert counters.limit_states(limits_for_call(alice.pk, None, tomorrow))[0].spent == 0


def test_a_budget_per_task_counts_each_task(alice):
    Budget.objects.create(user=alice, tokens_per_task=60)
    first, second = uuid4(), uuid4()
    allowance = Allowance(alice.pk, first)
    allowance.reserve(SIZE)
    settle(allowance)
    assert Allowance(alice.pk, second).reserve(SIZE) is None
    with pytest.raises(BudgetExceeded, match="is spent by this task"):
        allowance.reserve(SIZE)


def test_a_budget_per_task_does_not_apply_outside_tasks(alice):
    Budget.objects.create(user=alice, tokens_per_task=0)
    assert Allowance(alice.pk).reserve(SIZE) is None
    assert not Reservation.objects.exists()
