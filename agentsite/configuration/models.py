"""The sections `providers` and `models`: providers, and the logical models that are routed to them."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from django.db.models import Q
from pydantic import AfterValidator, Field, JsonValue, SecretStr, StringConstraints, model_validator

from agentsite.configuration.section import (
    Amount,
    ConfigurationSection,
    Count,
    CountOrNone,
    Name,
    Number,
    Seconds,
    WebAddress,
    default_of,
    save_changes,
    save_roles,
)
from llm_app import protocols
from llm_app.breaker import MAX_CALLS, Thresholds
from llm_app.models import LogicalModel, ModelKind, Protocol, Provider, Route
from llm_app.pricing import DEAREST
from llm_app.provider_status import settings_changed

_DEFAULT = "default"
_Price = Annotated[Amount, Field(le=DEAREST)]
_DEMO = Q(provider__protocol=Protocol.SCRIPTED, provider_model="demo")  # used until there is a model


class BreakerSection(ConfigurationSection):
    """The thresholds at which calls to a failing provider are paused."""

    window: Annotated[Count, Field(le=MAX_CALLS)] = Thresholds.window
    failure_ratio: Annotated[Number, Field(gt=0, le=1)] = Thresholds.failure_ratio
    min_calls: Annotated[Count, Field(le=MAX_CALLS)] = Thresholds.min_calls
    cooldown_s: Seconds = Thresholds.cooldown_s


def _check_protocol(protocol: str) -> str:
    if protocol not in protocols.adapters():
        raise ValueError(f"should be one of {', '.join(protocols.adapters())}")
    return protocol


class ProviderSection(ConfigurationSection):
    name: Name
    protocol: Annotated[str, AfterValidator(_check_protocol)]
    base_url: WebAddress = ""
    api_key: SecretStr = SecretStr("")
    litellm_provider: Annotated[str, StringConstraints(max_length=50)] = ""
    timeout_s: Seconds = default_of(Provider, "timeout_s")
    total_timeout_s: Seconds = default_of(Provider, "total_timeout_s")
    breaker: BreakerSection = BreakerSection()
    enabled: bool = True

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.protocol == Protocol.LITELLM and not self.litellm_provider:
            raise ValueError("litellm_provider is missing: the protocol litellm needs it")
        if self.protocol not in (Protocol.LITELLM, Protocol.SCRIPTED) and not self.base_url:
            raise ValueError(f"base_url is missing: the protocol {self.protocol} needs it")
        return self


class PriceSection(ConfigurationSection):
    """Prices in USD per million tokens."""

    input: _Price
    cached_input: _Price = 0
    cache_write: _Price = 0
    output: _Price


class RouteSection(ConfigurationSection):
    provider: Name
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    priority: Annotated[Count, Field(le=32_767)] | None = None  # default: the position in the list
    price: PriceSection | None = None
    temperature: Annotated[Amount, Field(le=2)] | None = None
    max_tokens: Count | None = None
    thinking_budget: CountOrNone | None = None
    context_window: Count | None = None
    takes_images: bool = False
    extra_body: dict[str, JsonValue] = {}
    extra_headers: dict[str, str] = {}
    quirks: dict[str, JsonValue] = {}


class ModelSection(ConfigurationSection):
    name: Name
    kind: ModelKind = ModelKind.TEXT
    context_window: Count = default_of(LogicalModel, "context_window")
    max_output_tokens: Count = default_of(LogicalModel, "max_output_tokens")
    roles: list[Name] = []
    providers: list[RouteSection] = []


def apply_providers(providers: Sequence[ProviderSection]) -> Iterator[str]:
    for item in providers:
        values = item.values_in_file("name", "api_key", "breaker")
        if "api_key" in item.model_fields_set:
            values["api_key"] = item.api_key.get_secret_value()
        if "breaker" in item.model_fields_set:
            values["breaker"] = item.breaker.model_dump(exclude_unset=True)
        row = Provider.objects.filter(name=item.name).first() or Provider(name=item.name)
        changed = list(save_changes(row, values, f"provider {item.name}"))
        if changed:
            settings_changed(row)
        yield from changed


def apply_models(models: Sequence[ModelSection]) -> Iterator[str]:
    for item in models:
        row = LogicalModel.objects.filter(name=item.name).first() or LogicalModel(name=item.name)
        yield from save_changes(row, item.values_in_file("name", "providers", "roles"), f"model {item.name}")
        if "roles" in item.model_fields_set:
            yield from save_roles(row, item.roles, f"model {row}")
        if "providers" in item.model_fields_set:
            yield from _apply_routes(row, item.providers)
    yield from _choose_default([item.name for item in models if item.kind == ModelKind.TEXT])


def _choose_default(names: Sequence[str]) -> Iterator[str]:
    """Choose the model called `default`, else the first one if the present default is missing or only has the demo."""
    current = LogicalModel.objects.filter(is_default=True).first()
    if _DEFAULT in names:
        chosen = _DEFAULT
    elif names and (current is None or not current.routes.exclude(_DEMO).exists()):
        chosen = names[0]
    else:
        return
    if current is not None and current.name == chosen:
        return
    LogicalModel.objects.filter(is_default=True).update(is_default=False)
    LogicalModel.objects.filter(name=chosen).update(is_default=True)
    yield f"model {chosen}: is the default model now" + (f", in place of {current}" if current else "")


def _apply_routes(model: LogicalModel, routes: Sequence[RouteSection]) -> Iterator[str]:
    """Save the routes of the file in its order. Other routes stay, after them; only the demo's is removed."""
    present = list(model.routes.select_related("provider"))
    last_priority = 0
    for position, item in enumerate(routes, 1):
        priority = item.priority or position
        last_priority = max(last_priority, priority)
        row = _take_matching_row(present, item, routes) or Route(
            model=model, provider=Provider.objects.get(name=item.provider)
        )
        values = item.values_in_file("provider", "model", "price", "priority") | {"provider_model": item.model}
        if "price" in item.model_fields_set:
            values["price"] = item.price.model_dump(exclude_unset=True) if item.price else {}
        values["priority"] = priority
        yield from save_changes(row, values, f"route {model} → {item.provider}/{item.model}")
    if routes:
        yield from _remove_demo(model, present)
        for row in present:
            if row.priority <= last_priority:
                yield from save_changes(row, {"priority": last_priority + 1}, f"route {row}, which is not in the file")


def _take_matching_row(present: list[Route], item: RouteSection, routes: Sequence[RouteSection]) -> Route | None:
    """Remove and return the row of the same model, else one of the same provider that no route of the file names."""
    targets = {(route.provider, route.model) for route in routes}
    same_model = [row for row in present if _target(row) == (item.provider, item.model)]
    same_provider = [row for row in present if row.provider.name == item.provider and _target(row) not in targets]
    row = next(iter(same_model + same_provider), None)
    if row is not None:
        present.remove(row)
    return row


def _target(row: Route) -> tuple[str, str]:
    return row.provider.name, row.provider_model


def _remove_demo(model: LogicalModel, present: list[Route]) -> Iterator[str]:
    for row in model.routes.filter(_DEMO, pk__in=[row.pk for row in present]):
        present.remove(row)
        yield f"route {row}: removed, the demo only stood in for a model"
        row.delete()
