"""Routes in the admin. Their JSON fields are checked by the form, so that no call fails because of them."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from llm_app.models import LogicalModel, Route
from llm_app.pricing import prices

_LAST = 32_767
_KINDS = ("input", "cached_input", "cache_write", "output")


class RouteForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = {
            "price": 'USD per million tokens, such as {"input": 3, "cached_input": 0.3, "output": 15}. Left out, the '
            "prices that ship with this server are taken; where they name none, only limits on tokens bind.",
            "extra_body": "Further fields of each request, as the provider names them. Its own tools stay off.",
            "quirks": 'How this provider differs from its protocol, such as {"strict_tools": true}.',
        }

    def clean_price(self) -> dict[str, Any]:
        price = _object(self.cleaned_data["price"])
        if not price:
            return price
        figures = {name: value for name, value in price.items() if name != "above"}
        if not _is_price(figures) or not {"input", "output"} <= figures.keys() or not _is_tier(price.get("above", {})):
            raise forms.ValidationError(f"USD per million tokens: input and output, and perhaps {_others()}.")
        return price

    def clean_extra_body(self) -> dict[str, Any]:
        return _object(self.cleaned_data["extra_body"])

    def clean_extra_headers(self) -> dict[str, Any]:
        headers = _object(self.cleaned_data["extra_headers"])
        if not all(isinstance(value, str) and value.isprintable() for value in headers.values()):
            raise forms.ValidationError("Each header is one line of text.")
        return headers

    def clean_quirks(self) -> dict[str, Any]:
        return _object(self.cleaned_data["quirks"])


def _object(value: Any) -> dict[str, Any]:
    """Nothing is an empty one."""
    if value and not isinstance(value, dict):
        raise forms.ValidationError("A JSON object, such as {}.")
    return dict(value or {})


def _is_price(figures: Mapping[str, Any]) -> bool:
    numbers = all(type(value) in (int, float) and value >= 0 for value in figures.values())
    return numbers and figures.keys() <= set(_KINDS)


def _is_tier(above: Any) -> bool:
    """`above` has the prices of requests of more than its `tokens`."""
    if not above:
        return bool(above == {})
    if not isinstance(above, dict) or type(above.get("tokens")) is not int:
        return False
    return _is_price({name: value for name, value in above.items() if name != "tokens"})


def _others() -> str:
    return ", ".join(kind for kind in _KINDS if kind not in ("input", "output")) + " and above"


class RouteInline(TabularInline):
    """The routes of a model in the order in which they are tried; all other fields are on the page of the route."""

    model = Route
    verbose_name_plural = "routes: tried from top to bottom, drag them into their order"
    fields = [
        "provider",
        "provider_model",
        "context_window",
        "takes_images",
        "priority",
    ]  # the first one has the handle
    ordering = ["priority", "pk"]
    ordering_field = "priority"
    hide_ordering_field = True
    extra = 0
    show_change_link = True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A new route comes last; dragging numbers from 0."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "priority":
            field.initial = _LAST
        return field


def number_routes(model: LogicalModel) -> None:
    """Gives the routes of a model the priorities 1, 2, 3 …, in the order that they have."""
    routes = list(model.routes.order_by("priority", "pk"))
    for place, route in enumerate(routes, 1):
        route.priority = place
    Route.objects.bulk_update(routes, ["priority"])


@admin.register(Route)
class RouteAdmin(ModelAdmin):
    form = RouteForm
    list_display = ["model", "priority", "provider", "provider_model", "takes_images", "costs"]
    list_display_links = ["provider_model"]
    list_filter = ["model", "provider"]
    list_select_related = ["model", "provider"]
    search_fields = ["provider_model", "model__name", "provider__name"]
    ordering = ["model__name", "priority", "pk"]

    @display(description="USD per million tokens")
    def costs(self, route: Route) -> str:
        price = prices.price_of(route)
        if "input" not in price or "output" not in price:
            return "not known"
        whose = "" if route.price else ", from the price table"
        return f"{price['input']:g} in, {price['output']:g} out{whose}"
