from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from llm_app.models import LogicalModel, Protocol, Provider, Route

# The demo only stands in until there is a model.
DEMO = Q(provider__protocol=Protocol.SCRIPTED, provider_model="demo")


def apply(model: LogicalModel, routes: Sequence[schema.Route]) -> Iterator[str]:
    """The file's routes come first, in its order of priority; others stay behind them, only the demo's is removed."""
    present = list(model.routes.select_related("provider"))
    last = 0
    for place, item in enumerate(routes, 1):
        priority = item.priority or place
        last = max(last, priority)
        row = _take(present, item, routes) or Route(model=model, provider=Provider.objects.get(name=item.provider))
        yield from put(row, _values(item) | {"priority": priority}, f"route {model} → {item.provider}/{item.model}")
    if routes:
        yield from _remove_demo(model, present)
        yield from _move_behind(present, last)


def _take(present: list[Route], item: schema.Route, routes: Sequence[schema.Route]) -> Route | None:
    """The row of a route: the one to the same model; else one to the same provider that no route of the file means."""
    meant = {(route.provider, route.model) for route in routes}
    same = [row for row in present if _target(row) == (item.provider, item.model)]
    free = [row for row in present if row.provider.name == item.provider and _target(row) not in meant]
    row = next(iter(same + free), None)
    if row is not None:
        present.remove(row)
    return row


def _target(row: Route) -> tuple[str, str]:
    return row.provider.name, row.provider_model


def _values(item: schema.Route) -> dict[str, Any]:
    values = item.given("provider", "model", "price", "priority") | {"provider_model": item.model}
    if "price" in item.model_fields_set:
        values["price"] = item.price.model_dump(exclude_unset=True) if item.price else {}
    return values


def _remove_demo(model: LogicalModel, rest: list[Route]) -> Iterator[str]:
    for row in model.routes.filter(DEMO, pk__in=[row.pk for row in rest]):
        rest.remove(row)
        yield f"route {row}: removed, the demo only stood in for a model"
        row.delete()


def _move_behind(rest: list[Route], last: int) -> Iterator[str]:
    for row in rest:
        if row.priority <= last:
            yield from put(row, {"priority": last + 1}, f"route {row}, which is not in the file")
