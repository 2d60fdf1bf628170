"""The part of the home page where an administrator enters an API key or chooses the default model."""

from typing import Any

from django import forms
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from llm_app.models import Protocol, Provider, Route
from llm_app.pricing import prices
from llm_app.provider_status import status_of
from llm_app.redaction import seen_values
from llm_app.setup import connect, is_listable, known_providers, model_list
from tasks_app.access import Request, posted, signed_in
from tasks_app.models.errors import Refusal
from tasks_app.pages.responses import done, refused
from tasks_app.text.sentences import translated
from tools_app.models import ToolSetting

_KINDS = [
    ("", gettext_lazy("Recognized from the key")),
    *((provider.name, provider.label) for provider in (*known_providers.KNOWN_PROVIDERS, known_providers.COMPATIBLE)),
]
_PERMISSIONS = [
    f"llm_app.{verb}_{model}" for verb in ("add", "change") for model in ("provider", "route", "logicalmodel")
]

_TOOL_PERMISSIONS = ["tools_app.add_toolsetting", "tools_app.change_toolsetting"]


class KeyForm(forms.Form):
    """A form for an API key. After `is_valid`, it has the `known` provider and the unsaved `provider`."""

    key = forms.CharField(
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "placeholder": "sk-…"}),
    )
    kind = forms.ChoiceField(choices=_KINDS, required=False)
    address = forms.CharField(
        required=False, max_length=200, widget=forms.TextInput(attrs={"placeholder": "http://127.0.0.1:9000/v1"})
    )
    model = forms.CharField(required=False, max_length=200)
    input_price = forms.FloatField(required=False, min_value=0, max_value=prices.DEAREST)
    output_price = forms.FloatField(required=False, min_value=0, max_value=prices.DEAREST)
    packages = forms.BooleanField(required=False)
    known: known_providers.KnownProvider
    provider: Provider

    def clean_key(self) -> str:
        key = str(self.cleaned_data["key"])
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValidationError(_("A key contains no spaces or accented letters. Copy it again."))
        return key

    def clean(self) -> dict[str, Any]:
        key, kind, address = (self.cleaned_data.get(name, "") for name in ("key", "kind", "address"))
        known_provider = known_providers.known_provider(kind) or known_providers.provider_of_key(key, address)
        if known_provider is None:
            raise ValidationError(
                _("Choose the provider: it cannot be recognized from this key.") if key else _("Enter a key.")
            )
        if known_provider is known_providers.COMPATIBLE and not address:
            raise ValidationError({"address": _("Enter the address of the server, such as http://127.0.0.1:9000/v1")})
        if known_provider is not known_providers.COMPATIBLE and not key:
            raise ValidationError({"key": _("Enter a key.")})
        if (self.cleaned_data.get("input_price") is None) != (self.cleaned_data.get("output_price") is None):
            raise ValidationError({"output_price": _("Enter both prices, or none.")})
        self.known, self.provider = known_provider, known_provider.provider(key, address)
        try:
            self.provider.clean_fields(exclude=["listed_models"])
            self.provider.clean()
        except ValidationError as error:
            raise ValidationError({"address": error.messages}) from error
        return self.cleaned_data

    @property
    def price(self) -> dict[str, float]:
        """The price in USD per million tokens by kind, empty if none was entered."""
        kinds = {"input": self.cleaned_data["input_price"], "output": self.cleaned_data["output_price"]}
        return {} if kinds["input"] is None else kinds


def may_set_up(user: Any) -> bool:
    return bool(user.is_staff and user.has_perms(_PERMISSIONS))


def model_context(user: Any, form: KeyForm | None = None) -> dict[str, Any]:
    """Return the context about the default model, with forms for administrators."""
    route = Route.objects.find_default()
    context: dict[str, Any] = {
        "is_demo": route is not None and route.provider.protocol == Protocol.SCRIPTED,
        "has_no_model": route is None,
        "may_set_up": may_set_up(user),
    }
    if not context["may_set_up"]:
        return context
    context["key_form"] = (form or KeyForm(initial=_known_address(route))) if _needs_key(route) else None
    context["asks_for_packages"] = _asks_for_packages(user)
    if route is not None and not context["is_demo"]:
        context["status"] = status_of(route)
        context |= {"route": route, "is_listable": is_listable(route.provider)}
        context["has_price"] = prices.is_known(prices.price_of(route))
    return context


def _asks_for_packages(user: Any) -> bool:
    """Return whether an administrator should be asked about packages: nobody has decided about commands yet."""
    return bool(user.has_perms(_TOOL_PERMISSIONS)) and not ToolSetting.objects.filter(name="shell").exists()


def _known_address(route: Route | None) -> dict[str, str]:
    """Return the provider kind and address for a new key, empty if the key itself implies them."""
    if route is None or not route.provider.base_url:
        return {}
    known_provider = (
        model_list.known_provider_of(route.provider, known_providers.KNOWN_PROVIDERS) or known_providers.COMPATIBLE
    )
    is_usual = bool(known_provider.base_url) and route.provider.base_url.startswith(known_provider.base_url)
    return {} if is_usual else {"kind": known_provider.name, "address": route.provider.base_url}


def _needs_key(route: Route | None) -> bool:
    """Return whether no real model answers, or another key would help."""
    return route is None or route.provider.protocol == Protocol.SCRIPTED or status_of(route).needs_key


@sensitive_post_parameters("key")
@signed_in
@require_POST
def enter_key(request: Request) -> HttpResponse:
    """Test a key and store it if a model answers. Otherwise show the reason and store nothing."""
    route = _set_up_route(request)
    if not _needs_key(route):
        return refused(
            request, "home", Refusal(_("A model is already set up. Change its provider in the administration."))
        )
    form = KeyForm(request.POST)
    if not form.is_valid():
        return _show_errors(request, form)
    seen_values.remember(form.provider.api_key)
    has_worked = route is not None and _is_key_for(route, form)
    if route is not None and has_worked:
        connection = connect.change_key(route, form.provider.api_key)
    else:
        connection = connect.connect(form.known, form.provider, form.cleaned_data["model"])
    if not connection.outcome.ok:
        form.add_error(None, translated(connection.verdict))
        return _show_errors(request, form)
    connection.route.price = form.price or connection.route.price
    if has_worked:
        adopted = connect.adopt_key(connection)
    else:
        is_demo = route is not None and route.provider.protocol == Protocol.SCRIPTED
        adopted = connect.adopt(connection, replaced=None if is_demo else route)  # the demo is replaced without it
    log_text = "Its key was changed on the first page." if has_worked else "Set up on the first page, with its key."
    _log(request, adopted.provider, CHANGE if has_worked else ADDITION, log_text)
    if form.cleaned_data["packages"] and _asks_for_packages(request.user):
        setting = ToolSetting.objects.allow_packages()
        _log(request, setting, ADDITION, "Commands can install packages, as chosen on the first page.")
    return done(request, "home", _success_message(adopted.provider_model, connection))


def _is_key_for(route: Route, form: KeyForm) -> bool:
    """Return whether the form has a new key for the current provider and its settings are not known to be wrong."""
    is_open_question = route.works is False or route.provider.protocol == Protocol.SCRIPTED
    asks_for_more = form.cleaned_data["model"] not in ("", route.provider_model)
    return route.provider.base_url == form.provider.base_url and not is_open_question and not asks_for_more


def _success_message(model: str, connection: connect.CheckedRoute) -> str:
    message = _("%(model)s answers from now on.") % {"model": model}
    return f"{message} {translated(connection.outcome.sentence)}"


@signed_in
@require_POST
def choose_model(request: Request) -> HttpResponse:
    """Test another model of the current provider and make it the default, or reload the provider's model list."""
    route = _set_up_route(request)
    if route is None or not is_listable(route.provider):
        return refused(
            request, "home", Refusal(_("This provider does not list its models. Enter one in the administration."))
        )
    model = posted(request, "model").strip()[:200]
    if not model:
        fault = connect.refresh_list(route.provider)
        return (
            refused(request, "home", Refusal(fault)) if fault else done(request, "home", _("The list is up to date."))
        )
    connection = connect.change_model(route, model)
    if not connection.outcome.ok:
        stays = _("%(model)s stays.") % {"model": route.provider_model}
        return refused(request, "home", Refusal(f"{stays} {connection.verdict}"))
    adopted = connect.adopt(connection, replaced=route)
    _log(request, adopted, CHANGE, f"{model} answers instead of {route.provider_model}, chosen on the first page.")
    return done(request, "home", _success_message(model, connection))


def _set_up_route(request: Request) -> Route | None:
    """Return the default route.

    Raises: PermissionDenied.
    """
    if not may_set_up(request.user):
        raise PermissionDenied(_("Only an administrator of providers can do this."))
    return Route.objects.find_default()


def _show_errors(request: Request, form: KeyForm) -> HttpResponse:
    """Show the form with its errors. The key is never sent back."""
    return render(request, "home/key.html", model_context(request.user, form), status=422)


def _log(request: Request, row: Provider | Route | ToolSetting, flag: int, sentence: str) -> None:
    """Log a change as the admin does."""
    LogEntry.objects.create(
        user_id=request.user.pk,
        content_type=ContentType.objects.get_for_model(row),
        object_id=str(row.pk),
        object_repr=str(row)[:200],
        action_flag=flag,
        change_message=sentence,
    )
