"""Budgets of users, roles and the server in the configuration file."""

from decimal import Decimal
from typing import Any

import pytest

from agentsite.configuration import ConfigurationError
from llm_app.models import Budget

pytestmark = pytest.mark.django_db
FILE = """\
    roles: [{name: analysts, budget: {usd_per_month: 50, tokens_per_day: 2000000}}]
    users: [{username: ada, roles: [analysts], budget: {usd_per_task: 0.25}}]
    limits: {budget: {tokens_per_month: 5000000000, tokens_per_task: 0}}
    """


def limits(**owner: Any) -> dict[str, Any]:
    names = [f"{unit}_per_{period}" for unit in ("usd", "tokens") for period in ("task", "day", "month")]
    row = Budget.objects.get(**owner)
    return {name: getattr(row, name) for name in names if getattr(row, name) is not None}


def test_budgets_of_a_role_a_user_and_the_server(configure: Any) -> None:
    configure(FILE)
    assert limits(role__name="analysts") == {"usd_per_month": 50, "tokens_per_day": 2_000_000}
    assert limits(user__username="ada") == {"usd_per_task": Decimal("0.25")}
    assert limits(user=None, role=None) == {"tokens_per_month": 5_000_000_000, "tokens_per_task": 0}


def test_applying_twice_changes_nothing(configure: Any) -> None:
    assert "budget of role analysts: created" in configure(FILE)
    assert configure(FILE) == []


def test_limits_are_changed_removed_or_kept(configure: Any) -> None:
    configure(FILE)
    changes = configure("roles: [{name: analysts, budget: {usd_per_month: 12.50}}]\n")
    assert changes == ["budget of role analysts: usd_per_month 50 → 12.5"]
    configure("roles: [{name: analysts, budget: {usd_per_month: }}]\n")
    assert limits(role__name="analysts") == {"tokens_per_day": 2_000_000}


@pytest.mark.parametrize(
    ("limit", "mistake"),
    [
        ("usd_per_day: -1", "greater than or equal to 0"),
        ("usd_per_day: 0.00001", "no more than 4 decimal places"),
        ("usd_per_day: yes", "should be a number"),
        ("tokens_per_day: 1.5", "valid integer"),
        ("tokens_per_year: 5", "there is no such key"),
    ],
)
def test_invalid_limit_is_a_mistake(configure: Any, limit: str, mistake: str) -> None:
    with pytest.raises(ConfigurationError, match=mistake):
        configure(f"limits: {{budget: {{{limit}}}}}\n")
