from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import display

from llm_app.budgets import LimitState, Period, counters, limits
from llm_app.models import Budget
from llm_app.pricing import unpriced

_USD, _TOKENS = ([f"{unit}_per_{period}" for period in ("task", "day", "month")] for unit in ("usd", "tokens"))


class BudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = {
            "user": "One person's own budget.",
            "role": "What the role's members may spend together. With neither user nor role: what everyone may spend.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        user, role = cleaned.get("user"), cleaned.get("role")
        if user and role:
            raise forms.ValidationError(
                "A budget belongs to a user or to a role, not to both. Create two budgets instead."
            )
        if not (user or role) and Budget.objects.filter(user=None, role=None).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("This server already has a budget for everyone. Change that one.")
        return cleaned


@admin.register(Budget)
class BudgetAdmin(ModelAdmin):
    form = BudgetForm
    list_display = ["__str__", *_USD, *_TOKENS]
    list_select_related = ["user", "role"]
    search_fields = ["user__username", "role__name"]
    autocomplete_fields = ["user", "role"]
    readonly_fields = ["current_spending"]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fieldsets: list[Any] = [
            (None, {"fields": ["user", "role"]}),
            ("US dollars", {"fields": _USD, "description": unpriced.warning_for_all_routes()}),
            ("Tokens", {"fields": _TOKENS}),
        ]
        return [*fieldsets, ("Now", {"fields": ["current_spending"]})] if obj else fieldsets

    def save_model(self, request: HttpRequest, obj: Budget, form: BudgetForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if any(getattr(obj, name) is not None for name in _USD):
            sentence = unpriced.warning_for_all_routes()
            if sentence:
                messages.warning(request, sentence)

    @display(description="current spending")
    def current_spending(self, budget: Budget) -> str | SafeString:
        budget_limits = limits.limits_of(budget, None, datetime.now(UTC))
        limit_states = counters.limit_states([limit for limit in budget_limits if limit.period is not Period.TASK])
        lines = ((_spending_line(state),) for state in limit_states)
        return format_html_join("", "<p>{}</p>", lines) or "There is no limit per day or month."


def _spending_line(state: LimitState) -> str:
    limit = state.limit
    amounts = (state.spent, state.reserved, state.left, limit.most)
    spent, reserved, amount_left, maximum = (limits.amount_text(amount, limit.unit) for amount in amounts)
    when = "Today" if limit.period is Period.DAY else "This month"
    line = f"{when}: {spent} spent of {maximum}, {reserved} reserved by running calls, {amount_left} left."
    calls = counters.unpriced_calls(limit)
    return f"{line} Not counted, because their model has no price: {calls} calls." if calls else line
