from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import action, display

from llm_app.admin.breakers import BreakerActions, BreakerChangeInline
from llm_app.admin.write_only import WriteOnlyAdmin, WriteOnlyForm
from llm_app.breaker import changes
from llm_app.breaker.decisions import Thresholds
from llm_app.connection_test import run_trial
from llm_app.models import Provider


class ProviderForm(WriteOnlyForm):
    class Meta:
        labels = {
            "base_url": "Address",
            "api_key": "API key",
            "litellm_provider": "litellm's provider",
            "timeout_s": "Timeout",
            "total_timeout_s": "Total timeout",
            "breaker": "Circuit breaker",
        }
        help_texts = {
            "breaker": 'Left out means {"window": 20, "failure_ratio": 0.5, "min_calls": 5, "cooldown_s": 30}',
        }

    def clean_breaker(self) -> dict[str, Any]:
        values: Any = self.cleaned_data["breaker"] or {}
        try:
            Thresholds.of(values).check()
        except (TypeError, ValueError) as error:
            raise forms.ValidationError(
                "A JSON object of these, each may be left out: window, min_calls (1 or more), failure_ratio (above 0, "
                "at most 1), cooldown_s (seconds, above 0)."
            ) from error
        return dict(values)


@admin.register(Provider)
class ProviderAdmin(BreakerActions, WriteOnlyAdmin):
    form = ProviderForm
    list_display = ["name", "protocol", "base_url", "has_key", "breaker_state", "enabled"]
    list_filter = ["protocol", "enabled", "circuit_breaker__state"]
    list_select_related = ["circuit_breaker"]
    search_fields = ["name", "base_url"]
    fields = [
        "name",
        "enabled",
        "protocol",
        "litellm_provider",
        "base_url",
        "api_key",
        "timeout_s",
        "total_timeout_s",
        "breaker",
        "breaker_now",
    ]
    readonly_fields = ["breaker_now"]
    inlines = [BreakerChangeInline]
    actions = ["test", *BreakerActions.actions]
    change_form_outer_before_template = "admin/llm_app/provider_actions.html"

    @display(description="key", boolean=True)
    def has_key(self, provider: Provider) -> bool:
        return bool(provider.api_key)

    def save_model(self, request: HttpRequest, obj: Provider, form: ProviderForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.changed_data:
            changes.give_new_chance(obj, request.user)

    @action(description="Test", permissions=["change"])
    def test(self, request: HttpRequest, chosen: QuerySet[Provider]) -> None:
        for provider in chosen:
            outcomes = list(run_trial(provider))
            if not outcomes:
                messages.warning(request, f"{provider}: No model is routed to it. Add a route, then test it.")
            for outcome in outcomes:
                level = messages.SUCCESS if outcome.ok else messages.ERROR
                messages.add_message(request, level, f"{provider}, {outcome.model}: {outcome.sentence}")
