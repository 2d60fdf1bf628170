"""Costs of calls: the route's own price, our price table, litellm's table, or unknown."""

from decimal import Decimal

import pytest
import yaml

from llm_app.models import LLMLog, Provider, Route
from llm_app.pricing import prices
from llm_app.types import Usage
from tests.llm_app.conftest import complete, routed
from tests.provider import openai_result

OPENAI = Provider(protocol="openai_native", base_url="https://api.openai.com/v1")
CLAUDE = Provider(protocol="anthropic_native", base_url="https://api.anthropic.com")
GEMINI = Provider(protocol="litellm", litellm_provider="gemini")


@pytest.mark.parametrize(
    ("usage", "price", "expected"),
    [
        (Usage(input_tokens=1_000_000), {"input": 3, "output": 15}, "3"),
        (Usage(output_tokens=1_000_000), {"input": 3, "output": 15}, "15"),
        (Usage(input_tokens=1000, cached_tokens=400), {"input": 3, "cached_input": 0.3, "output": 15}, "0.00192"),
        (Usage(input_tokens=1000, cached_tokens=400), {"input": 3, "output": 15}, "0.003"),
        (Usage(input_tokens=1000, cached_tokens=400), {"input": 3, "cached_input": 0, "output": 15}, "0.0018"),
        (Usage(input_tokens=1000, cache_write_tokens=1000), {"input": 4, "cache_write": 5, "output": 0}, "0.005"),
        (Usage(output_tokens=100, thinking_tokens=90), {"input": 3, "output": 10}, "0.001"),
        (Usage(input_tokens=10), {"input": 0, "output": 0}, "0"),
        (Usage(input_tokens=1000), {"input": 1, "output": 1, "above": {"tokens": 1000, "input": 2}}, "0.001"),
        (Usage(input_tokens=1001), {"input": 1, "output": 1, "above": {"tokens": 1000, "input": 2}}, "0.002002"),
        (Usage(input_tokens=10), {}, None),
        (Usage(input_tokens=10), {"input": 3}, None),
    ],
)
def test_a_usage_at_a_price(usage, price, expected):
    assert prices.cost(usage, price) == (None if expected is None else Decimal(expected))


def test_the_price_of_a_route_wins():
    own = {"input": 1, "output": 2}
    assert prices.price_of(Route(provider=OPENAI, provider_model="gpt-5", price=own)) == own
    assert prices.price_of(Route(provider=OPENAI, provider_model="gpt-5"))["output"] == 10


@pytest.mark.parametrize(
    ("provider", "model", "output"),
    [
        (OPENAI, "gpt-4o-mini", 0.6),
        (OPENAI, "gpt-4o-2024-08-06", 10),  # only in litellm's list
        (CLAUDE, "claude-sonnet-4-5", 15),
        (GEMINI, "gemini-2.5-flash", 2.5),
        (OPENAI, "gpt-of-ours", None),
        (Provider(protocol="openai_native", base_url="http://gateway:8000/v1"), "gpt-5", None),
        (Provider(protocol="litellm", litellm_provider="openai", base_url="http://gateway:8000"), "gpt-5", None),
        (Provider(protocol="litellm", litellm_provider="gemini"), "gpt-5", None),
        (Provider(protocol="scripted"), "demo", None),
    ],
)
def test_prices_are_known_per_provider_and_model(provider, model, output):
    assert prices.listed_price(provider, model).get("output") == output


def test_longer_requests_may_cost_more():
    price = prices.listed_price(GEMINI, "gemini-2.5-pro")
    assert price["above"]["tokens"] == 200_000
    assert price["above"]["input"] > price["input"]


def test_our_prices_agree_with_litellms():
    """Compare two independent sources: where they differ, one of them is out of date."""
    for host, models in yaml.safe_load(prices._TABLE.read_text()).items():
        for model, price in models.items():
            assert prices._litellm_price(prices._HOSTS[host], model) == price, model


def test_the_cost_of_a_call_is_in_its_log(db, servers):
    servers[0].replies = [openai_result()]  # uses 100 tokens, 40 of them cached, and 10 of output
    model = routed(servers[:1])
    complete(model)
    Route.objects.update(price={"input": 10, "cached_input": 1, "output": 20})
    complete(model)
    assert [log.cost_usd for log in LLMLog.objects.order_by("created_at")] == [None, Decimal("0.00084")]
