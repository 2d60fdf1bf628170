"""The admin of logical models and of their routes to providers."""

import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display

from llm_app.adapters.extra_body import ANSWERS_FIELDS, TOKEN_FIELDS
from llm_app.admin.price_form import PriceForm, effective_price
from llm_app.admin.quirks import link_to_quirks, quirks_of_route, with_learned_counts
from llm_app.admin.status import OUTCOMES, outcome, sentence
from llm_app.models import LogicalModel, ModelKind, Protocol, Route
from llm_app.pricing import unpriced
from llm_app.provider_status import listed_outcome, status_of, with_outcomes

_LAST_PRIORITY = 32_767


class RouteForm(PriceForm):
    class Meta:
        help_texts = {
            "extra_body": "Additional fields of each request. The provider's built-in tools stay disabled.",
            "quirks": 'How this provider differs from its protocol, such as {"strict_tools": true}.',
        }

    def clean_extra_body(self) -> dict[str, Any]:
        """Refuse fields that limit the output: budgets are reserved by the field of the route."""
        fields = _json_object(self.cleaned_data["extra_body"])
        if limits := [name for name in (*TOKEN_FIELDS, *ANSWERS_FIELDS) if name in fields]:
            raise forms.ValidationError(f"Remove {', '.join(limits)}. The field “Max tokens” limits the output.")
        return fields

    def clean_extra_headers(self) -> dict[str, Any]:
        headers = _json_object(self.cleaned_data["extra_headers"])
        if not all(isinstance(value, str) and value.isprintable() for value in headers.values()):
            raise forms.ValidationError("Each header must be one line of text.")
        return headers

    def clean_quirks(self) -> dict[str, Any]:
        return _json_object(self.cleaned_data["quirks"])


def _json_object(value: Any) -> dict[str, Any]:
    """Return a JSON object; an empty one for an empty value."""
    if value and not isinstance(value, dict):
        raise forms.ValidationError("A JSON object is needed, such as {}.")
    try:
        text = json.dumps(value or {}, allow_nan=False)
    except ValueError as error:
        raise forms.ValidationError("NaN and Infinity, also as 1e999, are no JSON numbers.") from error
    if "\\u0000" in text:
        raise forms.ValidationError("A NUL character cannot be stored.")
    return dict(value or {})


class RouteInline(TabularInline):
    """The routes of a model in the order of their priority. The route's page has all other fields."""

    model = Route
    verbose_name_plural = "routes: tried from top to bottom; drag to reorder"
    fields = [
        "provider",
        "provider_model",
        "context_window",
        "takes_images",
        "priority",
    ]  # the drag handle is in the first column
    ordering = ["priority", "pk"]
    ordering_field = "priority"
    hide_ordering_field = True
    extra = 0
    show_change_link = True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Sort new routes last. Dragging numbers routes from 0."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "priority":
            field.initial = _LAST_PRIORITY
        return field


def number_routes(model: LogicalModel) -> None:
    """Renumber the routes of a model as 1, 2, 3 … in their current order."""
    routes = list(model.routes.order_by("priority", "pk"))
    for priority, route in enumerate(routes, 1):
        route.priority = priority
    Route.objects.bulk_update(routes, ["priority"])


@admin.register(Route)
class RouteAdmin(ModelAdmin):
    form = RouteForm
    list_display = [
        "model",
        "priority",
        "provider",
        "provider_model",
        "last_outcome",
        "takes_images",
        "learned",
        "costs",
    ]
    readonly_fields = ["status_now", "learned_quirks"]
    fieldsets = (
        (None, {"fields": ["model", "provider", "provider_model", "priority", "takes_images"]}),
        (
            "Price",
            {
                "description": "US dollars per million tokens. If empty, the built-in price list applies. A model "
                "without any price is never stopped by a limit in dollars.",
                "fields": ["input_price", "output_price", "cached_price", "cache_write_price", "above"],
            },
        ),
        ("Request", {"fields": ["context_window", "max_tokens", "temperature", "thinking_budget"]}),
        ("Protocol", {"fields": ["extra_body", "extra_headers", "quirks", "learned_quirks"]}),
        ("Status", {"fields": ["status_now"]}),
    )
    list_display_links = ["provider_model"]
    list_filter = ["model", "provider"]
    list_select_related = ["model", "provider"]
    search_fields = ["provider_model", "model__name", "provider__name"]
    ordering = ["model__name", "priority", "pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Route]:
        return with_learned_counts(with_outcomes(super().get_queryset(request)))

    def save_model(self, request: HttpRequest, obj: Route, form: RouteForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        obj.model.retire_demo()
        warn_of_missing_prices(request, [obj])

    @display(description="last call or test", label=OUTCOMES)
    def last_outcome(self, route: Route) -> tuple[str, str]:
        return outcome(*listed_outcome(route))

    @display(description="last call or test")
    def status_now(self, route: Route) -> str:
        return sentence(status_of(route))

    @display(description="quirks")
    def learned(self, route: Route) -> str:
        filters: dict[str, str | int] = {
            "provider__id__exact": route.provider_id,
            "provider_model": route.provider_model,
        }
        return link_to_quirks(route.learned_count, **filters)  # type: ignore[attr-defined]

    @display(description="learned quirks")
    def learned_quirks(self, route: Route) -> str:
        return quirks_of_route(route) if route.pk else ""

    @display(description="USD per million tokens")
    def costs(self, route: Route) -> str:
        return effective_price(route)


def warn_of_missing_prices(request: HttpRequest, routes: Iterable[Route]) -> None:
    if sentence := unpriced.warning(routes):
        messages.warning(request, sentence)


class LogicalModelForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_kind(self) -> str:
        """Reject a default model that is not a text model.

        `is_default` is not in the form, so Django does not check this.
        """
        kind: str = self.cleaned_data["kind"]
        if self.instance.is_default and kind != ModelKind.TEXT:
            raise forms.ValidationError("This is the default model: make another one the default first.")
        return kind


@admin.register(LogicalModel)
class LogicalModelAdmin(ModelAdmin):
    form = LogicalModelForm
    list_display = ["name", "kind", "is_default", "answered_by", "open_to", "context_window", "max_output_tokens"]
    list_filter = ["kind", "roles"]
    search_fields = ["name"]
    fields = ["name", "kind", "context_window", "max_output_tokens", "roles", "is_default"]
    autocomplete_fields = ["roles"]
    readonly_fields = ["is_default"]
    inlines = [RouteInline]
    actions = ["make_default"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[LogicalModel]:
        routes = Route.objects.select_related("provider").defer("provider__api_key").order_by("priority", "pk")
        models: QuerySet[LogicalModel] = super().get_queryset(request)
        return models.prefetch_related(Prefetch("routes", routes), "roles")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        form.instance.retire_demo()
        number_routes(form.instance)
        real = form.instance.routes.exclude(provider__protocol=Protocol.SCRIPTED).select_related("provider")
        warn_of_missing_prices(request, real)

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, ...]:
        models = list(objs)
        to_delete, model_count, perms_needed, protected = super().get_deleted_objects(models, request)
        if any(model.is_default for model in models):
            protected = [*protected, "The default model: make another one the default first"]
        return to_delete, model_count, perms_needed, protected

    @display(description="answered by")
    def answered_by(self, model: LogicalModel) -> str:
        routes = list(model.routes.all())
        # The demo does not answer if there is a real route.
        routes = [route for route in routes if route.provider.protocol != Protocol.SCRIPTED] or routes
        targets = [f"{route.provider}/{route.provider_model}" for route in routes if route.provider.enabled]
        return ", then ".join(targets) or "nobody"

    @display(description="available to")
    def open_to(self, model: LogicalModel) -> str:
        return ", ".join(role.name for role in model.roles.all()) or "everyone"

    @action(description="Make this the default model", permissions=["change"])
    def make_default(self, request: HttpRequest, queryset: QuerySet[LogicalModel]) -> None:
        if queryset.count() != 1:
            messages.error(request, "Select one model.")
            return
        model = queryset.get()
        if model.kind != ModelKind.TEXT:
            messages.error(request, "Only a text model can be the default.")
            return
        with transaction.atomic():
            LogicalModel.objects.filter(is_default=True).update(is_default=False)
            LogicalModel.objects.filter(pk=model.pk).update(is_default=True)
        self.log_change(request, model, "Made this the default model.")
        messages.success(request, f"{model} is the default model, starting with the next call.")
