"""Limits of a call, their counters, and their availability."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from llm_app.budgets import BudgetScope, CallSize, Limit, LimitState, Period, Unit
from llm_app.budgets.amounts import Amount
from llm_app.budgets.limits import Availability, Counter, limits_for_call
from llm_app.models import Budget

NOON = datetime(2026, 12, 31, 12, tzinfo=UTC)


def limit(most, unit=Unit.TOKENS, scope=BudgetScope.USER, period=Period.DAY, name="ada"):
    return Limit(
        scope=scope,
        name=name,
        unit=unit,
        period=period,
        most=Decimal(most),
        counter=Counter(key="x"),
        renews_at=period.end(NOON),
    )


def standing(spent, reserved, most=100, unit=Unit.TOKENS):
    return LimitState(limit=limit(most, unit), spent=Decimal(spent), reserved=Decimal(reserved))


# --- periods ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("period", "now", "name", "begin", "end"),
    [
        ("day", (2026, 11, 22, 23, 59), "2026-11-22", (2026, 11, 22), (2026, 11, 23)),
        ("day", (2026, 2, 28), "2026-02-28", (2026, 2, 28), (2026, 3, 1)),
        ("day", (2026, 12, 31, 12), "2026-12-31", (2026, 12, 31), (2027, 1, 1)),
        ("month", (2026, 12, 31, 12), "2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("month", (2026, 2, 1), "2026-02", (2026, 2, 1), (2026, 3, 1)),
        ("month", (2028, 1, 31), "2028-01", (2028, 1, 1), (2028, 2, 1)),
    ],
)
def test_days_and_months_are_in_utc(period, now, name, begin, end):
    moment = datetime(*now, tzinfo=UTC)
    assert Period(period).name_at(moment) == name
    assert Period(period).begin(moment) == datetime(*begin, tzinfo=UTC)
    assert Period(period).end(moment) == datetime(*end, tzinfo=UTC)


@given(st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)), st.sampled_from([Period.DAY, Period.MONTH]))
def test_periods_follow_each_other_without_a_gap(moment, period):
    moment = moment.replace(tzinfo=UTC)
    assert period.begin(moment) <= moment < period.end(moment)
    assert period.begin(period.end(moment)) == period.end(moment)
    assert period.name_at(period.end(moment)) > period.name_at(moment)


# --- which limits bind ------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_users_calls_count_in_the_budgets_of_user_roles_and_everyone(alice, bob):
    mine, other = Group.objects.create(name="analysts"), Group.objects.create(name="others")
    alice.groups.add(mine)
    bob.groups.add(mine, other)
    Budget.objects.create(user=alice, usd_per_day=1)
    Budget.objects.create(user=bob, usd_per_day=2)
    Budget.objects.create(role=mine, tokens_per_month=3, usd_per_task=4)
    Budget.objects.create(role=other, usd_per_day=5)
    Budget.objects.create(tokens_per_day=6)
    found = {(each.counter.key, each.unit, int(each.most)) for each in limits_for_call(alice.pk, None, NOON)}
    assert found == {
        (f"user {alice.pk} 2026-12-31", "usd", 1),
        (f"role {mine.pk} 2026-12", "tokens", 3),
        ("task None", "usd", 4),
        ("all 2026-12-31", "tokens", 6),
    }
    assert [each.counter.key for each in limits_for_call(None, None, NOON)] == ["all 2026-12-31"]


@pytest.mark.django_db
def test_limits_are_read_with_one_query(alice, django_assert_num_queries):
    for number in range(5):
        role = Group.objects.create(name=str(number))
        alice.groups.add(role)
        Budget.objects.create(role=role, usd_per_day=1, usd_per_month=1, tokens_per_task=1)
    with django_assert_num_queries(1):
        assert len(limits_for_call(alice.pk, None, NOON)) == 15


@pytest.mark.django_db
def test_budgets_are_unique_per_user_per_role_and_for_everyone(alice):
    role = Group.objects.create(name="analysts")
    for owner in ({"user": alice}, {"role": role}, {}):
        Budget.objects.create(**owner)
        with pytest.raises(IntegrityError), transaction.atomic():
            Budget.objects.create(**owner)
    with pytest.raises(IntegrityError), transaction.atomic():
        Budget.objects.create(user=alice, role=role)


# --- room -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "reserved", "wanted", "room"),
    [
        (0, 0, 100, Availability.FREE),
        (0, 0, 5000, Availability.FREE),  # the only call, with an upper estimate
        (99, 0, 5000, Availability.FREE),
        (100, 0, 1, Availability.SPENT),
        (150, 40, 1, Availability.SPENT),
        (50, 30, 20, Availability.FREE),
        (50, 30, 21, Availability.RESERVED),
        (0, 200, 1, Availability.RESERVED),
    ],
)
def test_availability_for_a_call(spent, reserved, wanted, room):
    assert standing(spent, reserved).availability_for(Amount(tokens=wanted)) is room


def test_a_budget_of_zero_is_always_spent():
    assert standing(0, 0, most=0).availability_for(Amount(tokens=1)) is Availability.SPENT


def test_a_limit_in_usd_does_not_apply_without_a_price():
    assert standing(500, 0, unit=Unit.USD).availability_for(Amount(tokens=10, usd=None)) is Availability.FREE
    assert standing(500, 0, unit=Unit.USD).availability_for(Amount(tokens=10, usd=Decimal(0))) is Availability.SPENT


@given(st.integers(1, 1000), st.lists(st.tuples(st.booleans(), st.integers(1, 100), st.floats(0, 1)), max_size=60))
def test_no_order_of_calls_exceeds_a_limit_by_more_than_one_call(most, moves):
    """Each move starts a call with an upper estimate, or ends the oldest call with part of its estimate."""
    spent, under_way, largest = 0, [], 0
    for starts, upper, part in moves:
        state = standing(spent, sum(upper for upper, _ in under_way), most)
        if starts and state.availability_for(Amount(tokens=upper)) is Availability.FREE:
            under_way.append((upper, int(upper * part)))
        elif under_way:
            _, actual = under_way.pop(0)
            spent, largest = spent + actual, max(largest, actual)
    spent += sum(actual for _, actual in under_way)
    largest = max([largest, *(actual for _, actual in under_way)])
    assert spent <= most + largest


@pytest.mark.parametrize(
    ("spent", "reserved", "left", "share"), [(0, 0, 100, 0), (25, 50, 25, 0.25), (100, 0, 0, 1), (130, 10, 0, 1.3)]
)
def test_remaining_amount_and_spent_share(spent, reserved, left, share):
    assert (standing(spent, reserved).left, standing(spent, reserved).share_spent) == (left, share)
    assert standing(0, 0, most=0).share_spent == 1


def test_the_upper_estimate_is_the_request_and_the_longest_answer():
    size = CallSize(request_bytes=3000, max_tokens=500, price={"input": 1, "output": 10})
    assert size.upper_bound == Amount(tokens=1500, usd=Decimal("0.006"))
    assert CallSize(request_bytes=3000, max_tokens=500, price={}).upper_bound == Amount(tokens=1500)


# --- words ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"most": 5, "unit": Unit.USD},
            "The budget of the user ada, $5.00 a day, is spent. "
            "It is renewed on 1 January 2027 at 00:00 UTC; an administrator can raise it.",
        ),
        (
            {"most": 2_000_000, "scope": BudgetScope.ROLE, "name": "analysts", "period": Period.MONTH},
            "The budget of the role analysts, 2,000,000 tokens a month, is spent. "
            "It is renewed on 1 January 2027 at 00:00 UTC; an administrator can raise it.",
        ),
        (
            {"most": "0.005", "unit": Unit.USD, "scope": BudgetScope.SYSTEM, "period": Period.TASK},
            "The budget of this server, $0.005 a task, is spent by this task. Write a message to go on in a new one.",
        ),
    ],
)
def test_the_sentence_names_the_limit_and_its_renewal(fields, sentence):
    assert LimitState(limit=limit(**fields), spent=Decimal(9), reserved=Decimal(0)).sentence_when_spent == sentence
