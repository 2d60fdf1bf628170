"""The settings page (preferences, tools, API tokens, secrets, e-mails), and the page of the user's usage."""

import zoneinfo
from datetime import date, timedelta
from functools import cache
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.db.models import Count, Q, Sum
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from knox.models import get_token_model

from llm_app import active_secrets
from llm_app.budgets import counters, limits
from llm_app.models import Secret
from llm_app.pricing import usage
from tasks_app.access import Request, posted, signed_in
from tasks_app.models import ToolCallLog
from tasks_app.models.errors import Refusal
from tasks_app.pages import sign_ins
from tasks_app.pages.responses import done
from tasks_app.services import secrets
from tasks_app.text import sentences
from tools_app.json_schema import first_sentence
from tools_app.models import UserPolicy
from tools_app.policy import policy_for

USAGE_DAYS = 30
MAIL_KINDS = {
    "waiting": _("A task waits for me: a question, or a call to approve"),
    "done": _("A task is done"),
    "failed": _("A task has failed"),
}
_EXAMPLE = _("Write to me in German, briefly and without jargon. Numbers in tables. Code in Python, with tests.")


@cache
def _time_zones() -> list[tuple[str, Any]]:
    names = sorted(name for name in zoneinfo.available_timezones() if name.partition("/")[0] in _REGIONS)
    return [("", _("That of this browser")), ("UTC", "UTC"), *((name, name.replace("_", " ")) for name in names)]


_REGIONS = {"Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"}


class ProfileForm(forms.Form):
    email = forms.EmailField(required=False, label=_("E-mail"), help_text=_("For messages about your tasks."))
    time_zone = forms.ChoiceField(
        choices=_time_zones,
        required=False,
        label=_("Time zone"),
        help_text=_("Of the times on pages, and of the agent’s day."),
    )
    language = forms.ChoiceField(
        choices=[("", _("That of this browser")), *settings.LANGUAGES],
        required=False,
        label=_("Language"),
        help_text=_("Of pages and mails. What the agent writes follows your messages."),
    )
    preferences = forms.CharField(
        max_length=4000,
        required=False,
        label=_("What should the agent know about you?"),
        help_text=_(
            "Language, tone, format, preferences. It is part of the prompt of each task that "
            "you start in a session of your own, and of none in a shared one."
        ),
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": _EXAMPLE}),
    )


class MailForm(forms.Form):
    mails = forms.MultipleChoiceField(
        choices=list(MAIL_KINDS.items()),
        required=False,
        label=_("Send me an e-mail when"),
        widget=forms.CheckboxSelectMultiple,
    )


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, label=_("What is it for?"))
    may_approve = forms.BooleanField(
        required=False,
        label=_("It may approve calls"),
        help_text=_("Leave this off for a token that an agent, or a program of an agent, will hold."),
    )


class OwnSecretForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        help_text=_("Tools get the value where the agent writes [secret:NAME], in sessions that only you write in."),
    )
    widget = forms.PasswordInput(attrs={"autocomplete": "off"})
    value = forms.CharField(strip=False, label=_("Value"), widget=widget)


@signed_in
def show(request: Request) -> HttpResponse:
    return _page(request)


@signed_in
@require_POST
@reauthentication_required(enabled=lambda request: posted(request, "email").strip() != request.user.email)
def profile(request: Request) -> HttpResponse:
    form = ProfileForm(request.POST)
    if not form.is_valid():
        return _page(request, profile=form)
    user, data = request.user, form.cleaned_data
    user.preferences = active_secrets.for_users([user.pk]).redactor.redacted(data["preferences"])
    user.email, user.time_zone, user.language = data["email"], data["time_zone"], data["language"]
    user.save(update_fields=["preferences", "email", "time_zone", "language"])
    translation.activate(user.language or translation.get_language_from_request(request))
    response = done(request, "settings", gettext("Saved. It applies from your next task on."))
    if user.time_zone:
        response.set_cookie("timezone", user.time_zone, samesite="Lax")  # for the next page, too
    return response


@signed_in
@require_POST
def choose_mails(request: Request) -> HttpResponse:
    form = MailForm(request.POST)
    if not form.is_valid():
        return _page(request, mails=form)
    request.user.mails = form.cleaned_data["mails"]
    request.user.save(update_fields=["mails"])
    return done(request, f"{reverse('settings')}#notifications", gettext("Saved."))


@signed_in
@require_POST
def switch_tools(request: Request) -> HttpResponse:
    """Switch the ticked tools off. Tools that the page does not list keep their setting."""
    listed_tools = {tool.name for tool in policy_for(request.user.pk).switchable_tools()}
    policy, _ = UserPolicy.objects.get_or_create(user=request.user)
    unlisted_off = set(policy.switched_off) - listed_tools
    policy.switched_off = sorted(unlisted_off | (listed_tools & set(request.POST.getlist("off"))))
    policy.save(update_fields=["switched_off"])
    return done(request, "settings", gettext("Saved. It applies from the next step of your tasks on."))


@signed_in
@require_POST
@reauthentication_required
def make_token(request: Request) -> HttpResponse:
    """Show a new token, once. The password is asked for, so that an unattended browser cannot create one."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, token=form)
    return _page(request, new_token=get_token_model().objects.create(request.user, **form.cleaned_data)[1])


@signed_in
@require_POST
def delete_token(request: Request) -> HttpResponse:
    get_token_model().objects.filter(user=request.user, digest=posted(request, "token")).delete()
    return done(request, "settings", gettext("The token is deleted and no longer valid."))


@signed_in
@require_POST
def save_secret(request: Request) -> HttpResponse:
    """Store a secret. The response lists the entries that already contain its value."""
    form = OwnSecretForm(request.POST)
    if not form.is_valid():
        return _page(request, secret=form)
    try:
        saved = secrets.create(request.user, form.cleaned_data["name"], form.cleaned_data["value"])
    except Refusal as error:
        form.add_error(error.field, sentences.translated(str(error)))
        return _page(request, secret=form)
    return _page(request, kept=saved)


@signed_in
@require_POST
def delete_secret(request: Request) -> HttpResponse:
    Secret.objects.filter(owner=request.user, name=posted(request, "name")).delete()
    return done(request, "settings", gettext("The secret is deleted."))


def _page(request: Request, **context: Any) -> HttpResponse:
    """Return the settings page. `context` has an invalid form, if any."""
    user = request.user
    initial = {name: getattr(user, name) for name in ProfileForm.base_fields}
    page_forms = {
        "profile": ProfileForm(initial),
        "mails": MailForm({"mails": user.mails}),
        "token": TokenForm(),
        "secret": OwnSecretForm(),
    }
    policy = policy_for(request.user.pk)
    rows = {
        "tools": [
            {"name": tool.name, "about": first_sentence(tool.description), "is_off": tool.name in policy.switched_off}
            for tool in policy.switchable_tools()
        ],
        "tokens": get_token_model().objects.filter(user=request.user).order_by("-created"),
        "secrets": Secret.objects.filter(owner=request.user),
        "sends_mail": bool(settings.EMAIL_HOST),
        **sign_ins.settings_context(request),
    }
    is_invalid = any(isinstance(value, forms.Form) for value in context.values())
    return render(request, "settings.html", {**page_forms, **rows, **context}, status=422 if is_invalid else 200)


@signed_in
def show_usage(request: Request) -> HttpResponse:
    """Show usage by day, newest first. Days are in UTC, as budgets count them."""
    user_id, since = request.user.pk, usage.beginning(USAGE_DAYS)
    days = list(usage.usage_by_day(user_id, USAGE_DAYS))[::-1]
    for day in days:
        day["tokens"] = day["input_tokens"] + day["output_tokens"]
    context: dict[str, Any] = {
        "days": days,
        "total": usage.total_usage(user_id),
        "bars": _bars(days, since.date()),
        "models": usage.usage_by_model(user_id, USAGE_DAYS),
        "tools": ToolCallLog.objects.filter(task__started_by=user_id, started_at__gte=since)
        .values("name")
        .annotate(calls=Count("pk"), failed=Count("pk", filter=Q(status="failed")), total_ms=Sum("duration_ms"))
        .order_by("-calls", "name"),
        "most": max((day["tokens"] for day in days), default=0),
        "span": USAGE_DAYS,
        "standings": counters.limit_states(limits.limits_for_call(user_id, None)),
    }
    return render(request, "usage.html", context)


def _bars(days: list[dict[str, Any]], first: date) -> list[dict[str, Any]]:
    """Return a bar for each day in chart units: 20 wide, at most 100 high, input tokens below output tokens."""
    by_date = {day["date"]: day for day in days}
    largest = max((day["tokens"] for day in days), default=0) or 1
    bars = []
    for index in range(USAGE_DAYS):
        day = by_date.get(first + timedelta(days=index), {})
        input_height = round(100 * day.get("input_tokens", 0) / largest, 2)
        output_height = round(100 * day.get("output_tokens", 0) / largest, 2)
        bars.append(
            {
                "date": first + timedelta(days=index),
                "x": index * 20,
                "tokens": day.get("tokens", 0),
                "in": input_height,
                "in_y": round(100 - input_height, 2),
                "out": output_height,
                "out_y": round(100 - input_height - output_height, 2),
            }
        )
    return bars
