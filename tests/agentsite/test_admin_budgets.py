"""Budgets of users, roles and the server in the admin, and the prices of routes."""

import html
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from llm_app.models import Budget, Route
from tests import factories

NEW = "/admin/llm_app/budget/add/"
EMPTY = {"user": "", "role": "", "tokens_per_task": ""}


def errors(browser: Client, address: str, **form: Any) -> str:
    """Return the errors of the form, empty if it is valid."""
    answer = browser.post(address, form)
    return str(answer.context["adminform"].form.errors) if answer.status_code == 200 else ""


def test_budgets_of_a_user_a_role_and_the_server(browser: Client, alice: Any) -> None:
    role = Group.objects.create(name="analysts")
    for whose in ({"user": alice.pk}, {"role": role.pk}, {}):
        assert errors(browser, NEW, **EMPTY | whose | {"usd_per_month": "50"}) == ""
    assert [str(budget) for budget in Budget.objects.order_by("pk")] == [
        "Budget of alice",
        "Budget of the role analysts",
        "Budget of this server",
    ]


def test_budget_of_both_kinds_or_a_second_server_budget_is_rejected(browser: Client, alice: Any) -> None:
    role = Group.objects.create(name="analysts")
    assert "Create two budgets instead." in errors(browser, NEW, **EMPTY | {"user": alice.pk, "role": role.pk})
    Budget.objects.create(tokens_per_day=5)
    assert "Change that one." in errors(browser, NEW, **EMPTY)


def test_budget_page_shows_current_spending(browser: Client, alice: Any) -> None:
    budget = Budget.objects.create(user=alice, usd_per_day=2, tokens_per_month=100_000)
    factories.log(user_id=alice.pk, input_tokens=24_000, output_tokens=1000, cost_usd="0.5")
    page = browser.get(f"/admin/llm_app/budget/{budget.pk}/change/").content.decode()
    assert "Today: $0.50 spent of $2.00, $0.00 reserved by running calls, $1.50 left." in page
    assert "This month: 25,000 tokens spent of 100,000 tokens" in page


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("input_price", "0", "A price needs both figures"),
        ("above", '{"tokens": 200000, "input": 6}', "A price needs both figures"),
        ("input_price", "1e999", "Enter a number"),
        ("input_price", "-1", "greater than or equal to 0"),
        ("above", '{"tokens": 200000, "inptu": 6}', "Not a price for long requests"),
        ("above", '{"input": 6}', "Not a price for long requests"),
        ("above", "[3, 15]", "Not a price for long requests"),
        ("extra_body", '"top_k"', "A JSON object"),
        ("extra_headers", '{"X-Team": 3}', "one line of text"),
        ("quirks", "true", "A JSON object"),
    ],
)
def test_route_fields_are_validated_in_their_form(field: str, value: str, said: str, browser: Client) -> None:
    route = factories.RouteFactory()
    form = browser.get(f"/admin/llm_app/route/{route.pk}/change/").context["adminform"].form
    values = {name: form[name].value() for name in form.fields} | {field: value}
    given = {name: "" if item is None or item is False else item for name, item in values.items()}
    answer = errors(browser, f"/admin/llm_app/route/{route.pk}/change/", **given)
    assert said in answer
    assert bool(said) == bool(answer)


def saved_route(browser: Client, route: Route, **values: str) -> str:
    """Save a route's form and return the page that follows."""
    address = f"/admin/llm_app/route/{route.pk}/change/"
    form = browser.get(address).context["adminform"].form
    filled = {name: form[name].value() for name in form.fields} | values
    answer = browser.post(
        address, {name: "" if value in (None, False) else value for name, value in filled.items()}, follow=True
    )
    return html.unescape(answer.content.decode())


def test_price_is_entered_as_separate_numbers(browser: Client) -> None:
    route = factories.RouteFactory(price={"input": 1, "output": 2})
    above = '{"tokens": 200000, "input": 6}'
    saved_route(browser, route, input_price="3", output_price="15", cached_price="0.3", above=above)
    route.refresh_from_db()
    assert route.price == {
        "input": 3.0,
        "cached_input": 0.3,
        "output": 15.0,
        "above": {"tokens": 200_000, "input": 6},
    }
    saved_route(browser, route, input_price="", output_price="", cached_price="", above="")
    route.refresh_from_db()
    assert route.price == {}


def test_route_form_suggests_the_listed_price(browser: Client) -> None:
    known = factories.ProviderFactory(protocol="anthropic_native", base_url="https://api.anthropic.com")
    route = factories.RouteFactory(provider=known, provider_model="claude-opus-4-5")
    page = browser.get(f"/admin/llm_app/route/{route.pk}/change/").content.decode()
    assert 'placeholder="25 (price list)"' in page


UNPRICED = "No price is known for local-model at main: limits in US dollars never stop these calls"


def test_saving_a_route_without_a_price_warns(browser: Client) -> None:
    route = factories.RouteFactory(provider__name="main", provider_model="local-model")
    assert UNPRICED in saved_route(browser, route)
    assert UNPRICED not in saved_route(browser, route, input_price="0", output_price="0")


def test_dollar_limit_names_the_models_that_it_cannot_stop(browser: Client, alice: Any) -> None:
    route = factories.RouteFactory(provider__name="main", provider_model="local-model")
    assert UNPRICED in html.unescape(browser.get(NEW).content.decode())
    answer = browser.post(NEW, EMPTY | {"user": alice.pk, "usd_per_day": "2"}, follow=True)
    assert UNPRICED in html.unescape(answer.content.decode())
    Route.objects.filter(pk=route.pk).update(price={"input": 1, "output": 1})
    assert "No price is known" not in browser.get(NEW).content.decode()


def test_token_limit_needs_no_price(browser: Client, alice: Any) -> None:
    factories.RouteFactory(provider__name="main", provider_model="local-model")
    answer = browser.post(NEW, EMPTY | {"user": alice.pk, "tokens_per_day": "2"}, follow=True)
    assert "No price is known" not in answer.content.decode()


def test_budget_names_the_calls_that_it_does_not_count(browser: Client, alice: Any) -> None:
    budget = Budget.objects.create(user=alice, usd_per_day=2)
    factories.log(user_id=alice.pk, input_tokens=5)
    page = browser.get(f"/admin/llm_app/budget/{budget.pk}/change/").content.decode()
    assert "Not counted, because their model has no price: 1 calls." in page


def test_route_list_shows_prices_and_their_source(browser: Client) -> None:
    factories.RouteFactory(price={"input": 1.5, "output": 6})
    known = factories.ProviderFactory(protocol="anthropic_native", base_url="https://api.anthropic.com")
    factories.RouteFactory(provider=known, provider_model="claude-opus-4-5")
    factories.RouteFactory()
    page = browser.get("/admin/llm_app/route/").content.decode()
    assert "1.5 in, 6 out<" in page
    assert "out, from the price table" in page
    assert "no price" in page
    assert Route.objects.count() == 3
