"""Warnings about routes without a price. Limits in US dollars never stop their calls."""

from collections.abc import Iterable, Sequence

from llm_app.models import Budget, Protocol, Route
from llm_app.pricing import prices

_MAX_NAMED = 5


def warning(routes: Iterable[Route]) -> str:
    """Return a sentence about the routes without a price; empty if there are none."""
    unpriced_routes = [route for route in routes if not prices.is_known(prices.price_of(route))]
    names = list(dict.fromkeys(f"{route.provider_model} at {route.provider}" for route in unpriced_routes))
    if not names:
        return ""
    return (
        f"No price is known for {_list_of(names)}: limits in US dollars never stop these calls, and their cost is not "
        "shown. Enter a price on the route, or set a limit in tokens."
    )


def warning_for_all_routes() -> str:
    """Return the warning for all enabled routes, except the free demo."""
    routes = Route.objects.filter(provider__enabled=True).select_related("model", "provider").defer("provider__api_key")
    return warning(routes.exclude(provider__protocol=Protocol.SCRIPTED, provider_model="demo"))


def warning_for_budgets() -> str:
    """Return the warning for all enabled routes if any budget has a limit in US dollars."""
    return warning_for_all_routes() if Budget.objects.in_usd().exists() else ""


def _list_of(names: Sequence[str]) -> str:
    if len(names) > _MAX_NAMED:
        return f"{', '.join(names[:_MAX_NAMED])} and {len(names) - _MAX_NAMED} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
