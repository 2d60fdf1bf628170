from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import action, display

from llm_app.admin.routes import RouteInline, number_routes
from llm_app.models import LogicalModel, ModelKind, Protocol, Route


@admin.register(LogicalModel)
class LogicalModelAdmin(ModelAdmin):
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
        number_routes(form.instance)

    @display(description="answered by")
    def answered_by(self, model: LogicalModel) -> str:
        routes = list(model.routes.all())
        real = [
            route for route in routes if route.provider.protocol != Protocol.SCRIPTED
        ]  # before which the demo yields
        targets = [f"{route.provider}/{route.provider_model}" for route in real or routes if route.provider.enabled]
        return ", then ".join(targets) or "nobody"

    @display(description="open to")
    def open_to(self, model: LogicalModel) -> str:
        return ", ".join(role.name for role in model.roles.all()) or "everyone"

    @action(description="Make this the default model", permissions=["change"])
    def make_default(self, request: HttpRequest, chosen: QuerySet[LogicalModel]) -> None:
        if chosen.count() != 1:
            messages.error(request, "Select one model.")
            return
        model = chosen.get()
        if model.kind != ModelKind.TEXT:
            messages.error(request, "Only a model of text can be the default: it holds conversations.")
            return
        with transaction.atomic():
            LogicalModel.objects.filter(is_default=True).update(is_default=False)
            LogicalModel.objects.filter(pk=model.pk).update(is_default=True)
        self.log_change(request, model, "Made the default model.")
        messages.success(request, f"{model} is the default model from the next call on.")
