"""What a call costs: by its route's own price, or by the table."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from llm_app.models import Route
from llm_app.pricing import price_table
from llm_app.types import Usage

_MILLION = Decimal(1_000_000)


def of(route: Route) -> Mapping[str, Any]:
    """USD per million tokens: `input`, `cached_input`, `cache_write`, `output`; `above`, for requests of more `tokens`.

    Empty where no price is known.
    """
    return route.price or price_table.look_up(route.provider, route.provider_model)


def cost(usage: Usage, price: Mapping[str, Any]) -> Decimal | None:
    """USD for a usage at a price; None where there is none.

    Tokens that were read from a cache or written into it cost as much as others where no price of their own is given.
    """
    if "input" not in price or "output" not in price:
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
