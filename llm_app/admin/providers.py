"""Admin of providers and their circuit breakers: settings, connection test, state, history and actions."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminSelectWidget

from llm_app import protocols
from llm_app.admin import status
from llm_app.admin.quirks import LearnedQuirkInline, link_to_quirks, with_provider_counts
from llm_app.admin.read_only import ReadOnlyMixin
from llm_app.admin.write_only import WriteOnlyAdmin, WriteOnlyForm
from llm_app.base_address import has_path
from llm_app.breaker import changes
from llm_app.breaker.rules import MAX_CALLS, MAX_SECONDS, Thresholds
from llm_app.connection_test import check_models
from llm_app.models import BreakerChange, BreakerState, Provider
from llm_app.provider_status import listed_outcome, settings_changed, status_of_provider, with_outcomes
from llm_app.setup import known_providers

STATE_COLORS = {BreakerState.CLOSED: "success", BreakerState.HALF_OPEN: "warning", BreakerState.OPEN: "danger"}


class BreakerActions(ModelAdmin):
    """A mixin for the admin of providers, with actions on their breakers."""

    actions = ["force_open", "force_closed", "reset_breaker"]

    @display(description="breaker", ordering="circuit_breaker__state", label=STATE_COLORS)
    def breaker_state(self, provider: Provider) -> tuple[str, str]:
        breaker = changes.breaker_of(provider)
        return breaker.state, str(breaker)

    @display(description="current state of the breaker")
    def breaker_now(self, provider: Provider) -> str:
        breaker = changes.breaker_of(provider)
        return f"{breaker}. {breaker.reason}".capitalize()

    @action(description="Force the breaker open: no calls", permissions=["change"])
    def force_open(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        self._force(request, queryset, BreakerState.OPEN)

    @action(description="Force the breaker closed: all calls", permissions=["change"])
    def force_closed(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        self._force(request, queryset, BreakerState.CLOSED)

    def _force(self, request: HttpRequest, queryset: QuerySet[Provider], state: BreakerState) -> None:
        for provider in queryset:
            changes.force(provider, state, request.user)
            self._report(request, provider, f"Its breaker is forced {state.label} until an administrator resets it.")

    @action(description="Reset the breaker", permissions=["change"])
    def reset_breaker(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        for provider in queryset:
            changes.reset(provider, request.user)
            self._report(request, provider, "Its breaker is closed and automatic again.")

    def _report(self, request: HttpRequest, provider: Provider, sentence: str) -> None:
        self.log_change(request, provider, sentence)
        messages.success(request, f"{provider}: {sentence}")


class BreakerChangeInline(ReadOnlyMixin, TabularInline):
    model = BreakerChange
    verbose_name_plural = "breaker history"
    fields = ["at", "before", "after", "reason", "by"]
    readonly_fields = fields
    ordering = ["-pk"]
    extra = 0
    per_page = 10
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[BreakerChange]:
        rows: QuerySet[BreakerChange] = super().get_queryset(request)
        return rows.select_related("by", "provider")


@admin.register(BreakerChange)
class BreakerChangeAdmin(ReadOnlyMixin, ModelAdmin):
    list_display = ["at", "provider", "was", "became", "reason", "by"]
    list_filter = ["after", "provider"]
    list_select_related = ["provider", "by"]
    search_fields = ["provider__name", "reason"]
    date_hierarchy = "at"
    ordering = ["-pk"]
    show_full_result_count = False

    @display(description="was", label=STATE_COLORS)
    def was(self, change: BreakerChange) -> tuple[str, str]:
        return change.before, change.get_before_display()

    @display(description="became", ordering="after", label=STATE_COLORS)
    def became(self, change: BreakerChange) -> tuple[str, str]:
        return change.after, change.get_after_display()


class ProviderForm(WriteOnlyForm):
    protocol = forms.ChoiceField(widget=UnfoldAdminSelectWidget)

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
            "breaker": 'If empty: {"window": 20, "failure_ratio": 0.5, "min_calls": 5, "cooldown_s": 30}',
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Offer the protocols. A provider keeps its protocol while the plugin of that protocol is not installed."""
        super().__init__(*args, **kwargs)
        labels, current = protocols.labels(), self.instance.protocol
        if current and current not in labels:
            labels[current] = f"{current} (not installed)"
        if isinstance(field := self.fields.get("protocol"), forms.ChoiceField):
            field.choices = labels.items()

    def clean_base_url(self) -> str:
        """Complete the address of a known provider whose path is missing."""
        return known_providers.completed_address(self.cleaned_data["base_url"])

    def clean_breaker(self) -> dict[str, Any]:
        values: Any = self.cleaned_data["breaker"] or {}
        try:
            Thresholds.from_json(values).check()
        except (TypeError, ValueError) as error:
            raise forms.ValidationError(
                f"A JSON object with these is needed, all optional: window, min_calls (1 to {MAX_CALLS:,}), "
                f"failure_ratio (above 0, at most 1), cooldown_s (seconds, above 0, at most {MAX_SECONDS:,})."
            ) from error
        return dict(values)

    def clean_timeout_s(self) -> float:
        return _valid_seconds(self.cleaned_data["timeout_s"])

    def clean_total_timeout_s(self) -> float:
        return _valid_seconds(self.cleaned_data["total_timeout_s"])


def _valid_seconds(value: float) -> float:
    if not 0 < value <= MAX_SECONDS:
        raise forms.ValidationError(f"Write seconds, above 0 and at most {MAX_SECONDS:,}.")
    return value


@admin.register(Provider)
class ProviderAdmin(BreakerActions, WriteOnlyAdmin):
    form = ProviderForm
    list_display = [
        *("name", "spoken_protocol", "base_url", "has_key", "last_outcome", "breaker_state", "learned", "enabled"),
    ]
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
        "status_now",
    ]
    readonly_fields = ["breaker_now", "status_now"]
    inlines = [LearnedQuirkInline, BreakerChangeInline]
    actions = ["test", *BreakerActions.actions]
    change_form_outer_before_template = "admin/llm_app/provider_actions.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        return with_provider_counts(with_outcomes(super().get_queryset(request)))

    @display(description="quirks")
    def learned(self, provider: Provider) -> str:
        return link_to_quirks(provider.learned_count, provider__id__exact=provider.pk)  # type: ignore[attr-defined]

    @display(description="protocol", ordering="protocol")
    def spoken_protocol(self, provider: Provider) -> str:
        return protocols.labels().get(provider.protocol, f"{provider.protocol} (not installed)")

    @display(description="key", boolean=True)
    def has_key(self, provider: Provider) -> bool:
        return bool(provider.api_key)

    @display(description="last call or test", label=status.OUTCOMES)
    def last_outcome(self, provider: Provider) -> tuple[str, str]:
        return status.outcome(*listed_outcome(provider))

    @display(description="last call or test")
    def status_now(self, provider: Provider) -> str:
        return status.sentence(status_of_provider(provider))

    def get_deleted_objects(self, objs: Iterable[Provider], request: HttpRequest) -> tuple[Any, ...]:
        """Allow deleting a provider with its breaker history, although single history rows cannot be deleted."""
        to_delete, model_count, perms_needed, protected = super().get_deleted_objects(objs, request)
        return to_delete, model_count, perms_needed - {BreakerChange._meta.verbose_name}, protected

    def save_model(self, request: HttpRequest, obj: Provider, form: ProviderForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.changed_data:
            settings_changed(obj, request.user)
        if "base_url" in form.changed_data and obj.protocol.startswith("openai") and not has_path(obj.base_url):
            messages.warning(
                request,
                "Most servers have this API below /v1. Test the provider, and add /v1 to its address if it fails.",
            )

    @action(description="Test", permissions=["change"])
    def test(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        for provider in queryset:
            outcomes = list(check_models(provider))
            if not outcomes:
                messages.warning(request, f"{provider}: no model is routed to it. Add a route, then test it.")
            for outcome in outcomes:
                level = messages.SUCCESS if outcome.ok else messages.ERROR
                messages.add_message(request, level, f"{provider}, {outcome.model}: {outcome.sentence}")
