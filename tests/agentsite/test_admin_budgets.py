"""What administrators do with money: budgets of users, of roles and of all, and the prices of routes."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from llm_app.models import Budget, Route
from tests import factories

NEW = "/admin/llm_app/budget/add/"
EMPTY = {"user": "", "role": "", "tokens_per_task": ""}


def errors(browser: Client, address: str, **form: Any) -> str:
    """What the form says that refuses; empty if it takes it."""
    answer = browser.post(address, form)
    return str(answer.context["adminform"].form.errors) if answer.status_code == 200 else ""


def test_a_budget_of_a_user_of_a_role_and_of_all(browser: Client, alice: Any) -> None:
    role = Group.objects.create(name="analysts")
    for whose in ({"user": alice.pk}, {"role": role.pk}, {}):
        assert errors(browser, NEW, **EMPTY | whose | {"usd_per_month": "50"}) == ""
    assert [str(budget) for budget in Budget.objects.order_by("pk")] == [
        "Budget of alice",
        "Budget of the role analysts",
        "Budget of this server",
    ]


def test_a_budget_of_two_or_a_second_one_of_all_is_refused_with_a_sentence(browser: Client, alice: Any) -> None:
    role = Group.objects.create(name="analysts")
    assert "Create two budgets instead." in errors(browser, NEW, **EMPTY | {"user": alice.pk, "role": role.pk})
    Budget.objects.create(tokens_per_day=5)
    assert "Change that one." in errors(browser, NEW, **EMPTY)


def test_its_page_says_how_it_stands(browser: Client, alice: Any) -> None:
    budget = Budget.objects.create(user=alice, usd_per_day=2, tokens_per_month=100_000)
    factories.log(user_id=alice.pk, input_tokens=24_000, output_tokens=1000, cost_usd="0.5")
    page = browser.get(f"/admin/llm_app/budget/{budget.pk}/change/").content.decode()
    assert "Today: $0.50 spent of $2.00, $0.00 reserved by running calls, $1.50 left." in page
    assert "This month: 25,000 tokens spent of 100,000 tokens" in page


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("price", '{"input": 3, "cached_input": 0.3, "output": 15}', ""),
        ("price", '{"input": 3, "output": 15, "above": {"tokens": 200000, "input": 6}}', ""),
        ("price", "{}", ""),
        ("price", '{"input": 3}', "USD per million tokens"),
        ("price", '{"input": "3", "output": 15}', "USD per million tokens"),
        ("price", '{"input": 3, "outptu": 15}', "USD per million tokens"),
        ("price", "[3, 15]", "A JSON object"),
        ("extra_body", '"top_k"', "A JSON object"),
        ("extra_headers", '{"X-Team": 3}', "one line of text"),
        ("quirks", "true", "A JSON object"),
    ],
)
def test_the_fields_of_a_route_are_checked_where_they_are_written(
    field: str, value: str, said: str, browser: Client
) -> None:
    route = factories.RouteFactory()
    form = browser.get(f"/admin/llm_app/route/{route.pk}/change/").context["adminform"].form
    values = {name: form[name].value() for name in form.fields} | {field: value}
    given = {name: "" if item is None or item is False else item for name, item in values.items()}
    answer = errors(browser, f"/admin/llm_app/route/{route.pk}/change/", **given)
    assert said in answer
    assert bool(said) == bool(answer)


def test_the_list_of_routes_says_what_they_cost_and_by_what(browser: Client) -> None:
    factories.RouteFactory(price={"input": 1.5, "output": 6})
    known = factories.ProviderFactory(protocol="anthropic_native", base_url="https://api.anthropic.com")
    factories.RouteFactory(provider=known, provider_model="claude-opus-4-5")
    factories.RouteFactory()
    page = browser.get("/admin/llm_app/route/").content.decode()
    assert "1.5 in, 6 out<" in page
    assert "out, from the price table" in page
    assert "unknown" in page
    assert Route.objects.count() == 3
