"""Prices of calls: the price of the route, or the listed price of its model (ours or litellm's)."""

import importlib.util
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import yaml

from llm_app.models import Protocol, Provider, Route
from llm_app.types import Usage

Price = Mapping[str, Any]
DEAREST = 1_000_000  # USD per million tokens; the cost column has six digits before the point
_TABLE = Path(__file__).with_name("prices.yml")
_HOSTS = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}  # names of these providers in litellm's list
_FIELDS = {
    "input_cost_per_token": "input",
    "cache_read_input_token_cost": "cached_input",
    "cache_creation_input_token_cost": "cache_write",
    "output_cost_per_token": "output",
}
_TIER = re.compile(r"_above_(\d+)k_tokens$")
_MILLION = Decimal(1_000_000)


def price_of(route: Route) -> Mapping[str, Any]:
    """Return USD per million tokens: `input`, `cached_input`, `cache_write`, `output`, and `above` for longer requests.

    `above` contains such prices for requests of more than `tokens` tokens. Empty without a known price.
    """
    return route.price or listed_price(route.provider, route.provider_model)


def is_known(price: Price) -> bool:
    """Return whether calls can be charged at this price. A price of 0 is known."""
    return "input" in price and "output" in price


def cost(usage: Usage, price: Mapping[str, Any]) -> Decimal | None:
    """Return the cost of a usage in USD, or None without a known price.

    Tokens read from a cache or written to it cost the input price unless they have their own.
    """
    if not is_known(price):
        return None
    if usage.input_tokens > price.get("above", {}).get("tokens", usage.input_tokens):
        price = {**price, **price["above"]}
    counts = {
        "input": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "cached_input": usage.cached_tokens,
        "cache_write": usage.cache_write_tokens,
        "output": usage.output_tokens,
    }
    total = Decimal()
    for kind, count in counts.items():
        total += count * Decimal(str(price.get(kind, price["input"])))
    return total / _MILLION


def listed_price(provider: Provider, model: str) -> Price:
    """Return USD per million tokens. Empty if unknown: at a gateway, the model name does not tell the price."""
    try:
        host = urlsplit(provider.base_url).hostname or ""
    except ValueError:  # an invalid address, which its calls report
        return {}
    if price := _our_prices().get(host, {}).get(model):
        return price
    behind = provider.litellm_provider if provider.protocol == Protocol.LITELLM and not host else _HOSTS.get(host, "")
    return _litellm_price(behind, model) if behind else {}


@cache
def _our_prices() -> dict[str, dict[str, Price]]:
    """Return prices by host and model."""
    table: dict[str, dict[str, Price]] = yaml.safe_load(_TABLE.read_text())
    return table


@cache
def _litellm_price(provider: str, model: str) -> Price:
    """Return the price in litellm's file, without importing litellm.

    The file is large, so only the result is cached.
    """
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).with_name("model_prices_and_context_window_backup.json")
    table: dict[str, dict[str, Any]] = orjson.loads(path.read_bytes())
    entries = (table.get(f"{provider}/{model}"), table.get(model))
    return next((_price(entry) for entry in entries if entry and entry.get("litellm_provider") == provider), {})


def _price(entry: Mapping[str, Any]) -> Price:
    """Return the price of an entry, with `above` if longer requests cost more."""
    price: dict[str, Any] = {}
    for field, value in entry.items():
        tier = _TIER.search(field)
        kind = _FIELDS.get(_TIER.sub("", field))
        if kind is None or not isinstance(value, (int, float)):
            continue
        if tier is None:
            price[kind] = round(value * 1_000_000, 6)
        else:
            price.setdefault("above", {"tokens": int(tier[1]) * 1000})[kind] = round(value * 1_000_000, 6)
    return price
