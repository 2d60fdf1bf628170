"""The admin's sign-in and first page, search engines, and applied configuration values."""

from typing import Any

from allauth.account.decorators import secure_admin_login
from django import forms
from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display

from agentsite.checks.registry import quick_findings
from agentsite.models import AppliedValue
from llm_app.admin import WriteOnlyField
from llm_app.models import ServiceKey
from tools_app.models import SearchEngine
from tools_app.search_engines.asking import ADAPTERS

# The admin uses the site's sign-in, with its limit on attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the findings to the context of the first page. They name weaknesses, so only superusers see them."""
    return context | {"findings": quick_findings() if request.user.is_superuser else []}


@admin.register(AppliedValue)
class AppliedValueAdmin(ModelAdmin):
    """Values that a configuration file set, with their time. A value that is deleted here is applied again."""

    list_display = ["name", "applied_at"]
    search_fields = ["name"]
    fields = ["name", "applied_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SearchEngineForm(forms.ModelForm):  # type: ignore[type-arg]
    api_key = WriteOnlyField(label="API key", required=False)

    class Meta:
        labels = {"base_url": "Address"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "api_key" in self.fields and self.instance.pk and _key_of(self.instance).exists():
            self.fields["api_key"].help_text = "A value is stored. Leave this empty to keep it."

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        adapter = ADAPTERS.get(cleaned.get("kind", ""))
        has_key = cleaned.get("api_key") or (self.instance.pk and _key_of(self.instance).exists())
        if adapter and adapter.needs_key and not has_key:
            self.add_error("api_key", "This engine needs a key.")
        if cleaned.get("kind") == "searxng" and not cleaned.get("base_url"):
            self.add_error("base_url", "SearXNG needs the URL of your server.")
        return cleaned


@admin.register(SearchEngine)
class SearchEngineAdmin(ModelAdmin):
    """Search engines. Without an enabled one, public engines that need no key are queried (ddgs)."""

    form = SearchEngineForm
    list_display = ["name", "kind", "priority", "enabled", "has_key"]
    list_filter = ["kind", "enabled"]
    search_fields = ["name"]
    fields = ["name", "kind", "enabled", "priority", "base_url", "api_key"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchEngine]:
        keys = ServiceKey.objects.filter(name=Concat(Value(SearchEngine.KEY_PREFIX), OuterRef("name")))
        engines: QuerySet[SearchEngine] = super().get_queryset(request)
        return engines.annotate(key_is_stored=Exists(keys))

    @display(description="key", boolean=True)
    def has_key(self, engine: SearchEngine) -> bool:
        return bool(getattr(engine, "key_is_stored", False))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["name"] if obj else []  # the API key is stored under the name

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = list(self.fields)
        return fields if obj is None or self.has_change_permission(request, obj) else fields[:-1]

    def save_model(self, request: HttpRequest, obj: SearchEngine, form: SearchEngineForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if key := form.cleaned_data.get("api_key"):
            ServiceKey.store(obj.key_name, key)

    def delete_model(self, request: HttpRequest, obj: SearchEngine) -> None:
        _key_of(obj).delete()
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SearchEngine]) -> None:
        for engine in queryset:
            self.delete_model(request, engine)


def _key_of(engine: SearchEngine) -> QuerySet[ServiceKey]:
    return ServiceKey.objects.filter(name=engine.key_name)
