"""From a key to a model that answers: list the models, test the preferred ones, and store the result."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from llm_app import errors
from llm_app.base_address import endpoint_address, has_path
from llm_app.connection_test import ConnectionTestResult, LoopRunner, check_route, explanation, fault_of_account
from llm_app.models import LogicalModel, Protocol, Provider, Route
from llm_app.provider_status import settings_changed, status_of_provider
from llm_app.setup import model_list
from llm_app.setup.known_providers import COMPATIBLE, KNOWN_PROVIDERS, KnownProvider
from llm_app.setup.model_list import ListedModel

_MAX_TESTS = 2  # models to test, because the account may not be allowed to use the first one
_MAX_OUTPUT = 16_384  # tokens: room for thinking and for a file
# Errors after which another model or another protocol of the same provider may still answer.
_MODEL_AT_FAULT = (
    errors.BadRequest
    | errors.ModelNotFound
    | errors.Overloaded
    | errors.AllowanceSpent
    | errors.ToolsUnsupported
    | errors.UnreadableReply
)


@dataclass(frozen=True, kw_only=True)
class CheckedRoute:
    """A tested route with its provider. Only `adopt` stores it. `outcome` is the result of the test."""

    route: Route
    outcome: ConnectionTestResult

    @property
    def verdict(self) -> str:
        """Return the result, with the name of the model if one was tested."""
        return f"{self.outcome.model}: {self.outcome.sentence}" if self.outcome.model else self.outcome.sentence


def connect(known_provider: KnownProvider, provider: Provider, model: str = "") -> CheckedRoute:
    """List the models, and test the preferred ones (or only `model`) until one calls a tool. Stores nothing."""
    try:
        provider.listed_models = _fetch_completed_list(provider, known_provider)
    except errors.LLMError as error:
        if not _is_another_attempt_useful(error):
            return _not_connected(
                known_provider, provider, f"Its list of models cannot be read. {explanation(error, provider)}"
            )
    candidates = list(_candidates(known_provider, provider, model))
    if not candidates:
        return _not_connected(known_provider, provider, "It does not say which models it has. Name the one to use.")
    results = []
    for route in candidates:
        results.append(CheckedRoute(route=route, outcome=check_route(route)))
        if results[-1].outcome.ok:
            return results[-1]
        if not _is_another_attempt_useful(results[-1].outcome.error):
            break
    return results[0]


def guess(known_provider: KnownProvider, provider: Provider) -> CheckedRoute:
    """Return the probable route without asking the provider."""
    return _not_connected(known_provider, provider, "It was not tested yet.")


def change_model(route: Route, model: str) -> CheckedRoute:
    """Test the same provider with another model. Stores nothing."""
    known_provider = model_list.known_provider_of(route.provider, KNOWN_PROVIDERS) or COMPATIBLE
    changed = _new_route(known_provider, route.provider, _model_named(route.provider, model))
    changed.model, changed.extra_headers = route.model, route.extra_headers
    return CheckedRoute(route=changed, outcome=check_route(changed))


def change_key(route: Route, key: str) -> CheckedRoute:
    """Test the same provider and model with another key. Stores nothing."""
    changed, changed.provider = copy(route), copy(route.provider)
    changed.provider.api_key = key
    return CheckedRoute(route=changed, outcome=check_route(changed))


def refresh_list(provider: Provider) -> str:
    """Store the provider's current list of models. Return why it could not be read, or ""."""
    known_provider = model_list.known_provider_of(provider, KNOWN_PROVIDERS) or COMPATIBLE
    try:
        listed = _fetch_list(provider, known_provider)
    except errors.LLMError as error:
        return explanation(error, provider)
    Provider.objects.filter(pk=provider.pk).update(listed_models=listed)
    return "" if listed else "It lists no model that holds conversations."


def _fetch_list(provider: Provider, known_provider: KnownProvider) -> list[dict[str, object]]:
    with LoopRunner() as run:
        models = model_list.fetch(provider, run)
    return [model.as_json() for model in model_list.ranked(models, known_provider)]


def _fetch_completed_list(provider: Provider, known_provider: KnownProvider) -> list[dict[str, object]]:
    """Fetch the list, and complete an address without a path: most servers have their API below /v1."""
    try:
        return _fetch_list(provider, known_provider)
    except (errors.ModelNotFound, errors.UnreadableReply):
        if has_path(provider.base_url) or provider.protocol.startswith("anthropic"):
            raise
    address = provider.base_url
    try:
        provider.base_url = endpoint_address(address, "v1")
        return _fetch_list(provider, known_provider)
    except errors.LLMError:
        provider.base_url = address
        raise


def _candidates(known_provider: KnownProvider, provider: Provider, model: str) -> Iterator[Route]:
    candidates = [ListedModel(**row) for row in provider.listed_models[:_MAX_TESTS]]
    if model:
        candidates = [_model_named(provider, model)]
    elif not candidates and known_provider.model:
        candidates = [ListedModel(name=known_provider.model)]
    for candidate in candidates:
        for protocol in known_provider.protocols_at(provider.base_url):
            with_protocol = Provider(
                name=provider.name,
                protocol=protocol,
                base_url=provider.base_url,
                api_key=provider.api_key,
                listed_models=provider.listed_models,
            )
            yield _new_route(known_provider, with_protocol, candidate)


def _model_named(provider: Provider, model: str) -> ListedModel:
    for row in provider.listed_models:
        if row["name"] == model:
            return ListedModel(**row)
    return ListedModel(name=model)


def _new_route(known_provider: KnownProvider, provider: Provider, model: ListedModel) -> Route:
    window = model_list.window_of(model, known_provider)
    output = min(_MAX_OUTPUT, model.max_output_tokens or _MAX_OUTPUT, window // 4)
    takes_images = known_provider.takes_images if model.takes_images is None else model.takes_images
    logical = LogicalModel(name="default", is_default=True, context_window=window, max_output_tokens=output)
    return Route(model=logical, provider=provider, provider_model=model.name, takes_images=takes_images)


def _not_connected(known_provider: KnownProvider, provider: Provider, sentence: str) -> CheckedRoute:
    route = _new_route(known_provider, provider, ListedModel(name=known_provider.model))
    return CheckedRoute(route=route, outcome=ConnectionTestResult(model="", ok=False, sentence=sentence))


def _is_another_attempt_useful(error: errors.LLMError | None) -> bool:
    """Return whether another model or protocol may work. Without an error, the model answered but called no tool."""
    if error is None or error.status == 403:
        return True
    return isinstance(error, _MODEL_AT_FAULT) and not fault_of_account(error, has_key=True)


# --- storing ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def adopt(checked: CheckedRoute, replaced: Route | None = None) -> Route:
    """Make a checked route the first route of the default model, instead of `replaced` and of the demo."""
    provider = _stored_provider(checked.route.provider)
    model = _default_model(checked.route, replaced)
    existing = model.routes.filter(provider=provider, provider_model=checked.route.provider_model).first()
    if replaced is not None and replaced != existing:
        replaced.delete()
    route = existing or checked.route
    route.provider, route.model, route.priority = provider, model, 1
    route.price = checked.route.price or route.price
    route.works, route.verdict = checked.outcome.ok, checked.outcome.sentence
    route.tested_at = timezone.now()
    others = model.routes.exclude(pk=route.pk)
    if others.filter(priority__lte=1).exists():
        others.update(priority=F("priority") + 1)
    route.save()
    model.retire_demo()
    return route


@transaction.atomic
def adopt_key(checked: CheckedRoute) -> Route:
    """Store the key of a route that `change_key` has tested."""
    route = checked.route
    route.provider.save(update_fields=["api_key"])
    settings_changed(route.provider)
    route.works, route.verdict = checked.outcome.ok, checked.outcome.sentence
    route.tested_at = timezone.now()
    route.save(update_fields=["works", "verdict", "tested_at", "price"])
    return route


def _stored_provider(new: Provider) -> Provider:
    """Update the provider of this name, unless it works with another address: then store a second one."""
    if new.pk is not None:
        return new
    old = Provider.objects.filter(name=new.name).first()
    if old is not None and old.base_url != new.base_url and status_of_provider(old).works:
        new.name, old = _free_name(new.name), None
    row = old or new
    row.protocol, row.base_url, row.api_key = new.protocol, new.base_url, new.api_key
    row.listed_models, row.enabled = new.listed_models, True
    row.save()
    settings_changed(row)
    return row


def _free_name(name: str) -> str:
    taken_names = set(Provider.objects.values_list("name", flat=True))
    return next(free for number in range(2, len(taken_names) + 3) if (free := f"{name}-{number}") not in taken_names)


def _default_model(route: Route, replaced: Route | None) -> LogicalModel:
    """Return the default model with the route's limits.

    If it has other real routes, the route keeps its own limits instead.
    """
    new_model = route.model
    model = LogicalModel.objects.filter(is_default=True).first()
    model = model or LogicalModel.objects.filter(name=new_model.name).first() or new_model
    others = model.routes.exclude(provider__protocol=Protocol.SCRIPTED) if model.pk else Route.objects.none()
    if replaced is not None:
        others = others.exclude(pk=replaced.pk)
    if others.exists():
        route.context_window, route.max_tokens = new_model.context_window, new_model.max_output_tokens
    else:
        model.context_window, model.max_output_tokens = new_model.context_window, new_model.max_output_tokens
    model.is_default = True
    model.save()
    return model
