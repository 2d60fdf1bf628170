from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from llm_app.admin.route_form import RouteForm
from llm_app.models import LogicalModel, Route
from llm_app.pricing import prices

_LAST = 32_767


class RouteInline(TabularInline):
    """The routes of a model in the order in which they are tried; all else that a route has stands on its own page."""

    model = Route
    verbose_name_plural = "routes: tried from top to bottom, drag them into their order"
    fields = [
        "provider",
        "provider_model",
        "context_window",
        "takes_images",
        "priority",
    ]  # the handle stands in the first one
    ordering = ["priority", "pk"]
    ordering_field = "priority"
    hide_ordering_field = True
    extra = 0
    show_change_link = True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A new route stands below the others; dragging counts from 0."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "priority":
            field.initial = _LAST
        return field


def number(model: LogicalModel) -> None:
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
        price = prices.of(route)
        if "input" not in price or "output" not in price:
            return "not known"
        whose = "" if route.price else ", by the table"
        return f"{price['input']:g} in, {price['output']:g} out{whose}"
