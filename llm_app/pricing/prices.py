"""What a call costs: at the price of its route, or at the listed price of its model (ours or litellm's)."""

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
DEAREST = 1_000_000  # USD per million tokens: what a call costs has six digits before the point
_TABLE = Path(__file__).with_name("prices.yml")
_HOSTS = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}  # whose prices litellm lists under these names
_FIELDS = {
    "input_cost_per_token": "input",
    "cache_read_input_token_cost": "cached_input",
    "cache_creation_input_token_cost": "cache_write",
    "output_cost_per_token": "output",
}
_TIER = re.compile(r"_above_(\d+)k_tokens$")
_MILLION = Decimal(1_000_000)


def price_of(route: Route) -> Mapping[str, Any]:
    """USD per million tokens: `input`, `cached_input`, `cache_write`, `output`; `above`, for requests of more `tokens`.

    Empty where no price is known.
    """
    return route.price or listed_price(route.provider, route.provider_model)


def is_known(price: Price) -> bool:
    """Return whether calls can be charged at this price; a price of 0 is one."""
    return "input" in price and "output" in price


def cost(usage: Usage, price: Mapping[str, Any]) -> Decimal | None:
    """USD for a usage at a price; None where there is none.

    Tokens that were read from a cache or written into it cost as much as others where no price of their own is given.
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
    return (
        sum((count * _exact(price.get(kind, price["input"])) for kind, count in counts.items()), Decimal()) / _MILLION
    )


def _exact(value: float) -> Decimal:
    return Decimal(str(value))


def listed_price(provider: Provider, model: str) -> Price:
    """USD per million tokens; empty where they are not known: what a gateway takes says the name of no model."""
    try:
        host = urlsplit(provider.base_url).hostname or ""
    except ValueError:  # an address that is none, which its calls say
        return {}
    if price := _our_prices().get(host, {}).get(model):
        return price
    behind = provider.litellm_provider if provider.protocol == Protocol.LITELLM and not host else _HOSTS.get(host, "")
    return _litellm_price(behind, model) if behind else {}


@cache
def _our_prices() -> dict[str, dict[str, Price]]:
    """Host → model → price."""
    table: dict[str, dict[str, Price]] = yaml.safe_load(_TABLE.read_text())
    return table


@cache
def _litellm_price(provider: str, model: str) -> Price:
    """Out of litellm's file, read without importing litellm: the file is large, and only the answer is kept."""
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).with_name("model_prices_and_context_window_backup.json")
    table: dict[str, dict[str, Any]] = orjson.loads(path.read_bytes())
    entries = (table.get(f"{provider}/{model}"), table.get(model))
    return next((_price(entry) for entry in entries if entry and entry.get("litellm_provider") == provider), {})


def _price(entry: Mapping[str, Any]) -> Price:
    """With `above`, where a request of more tokens costs more."""
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
