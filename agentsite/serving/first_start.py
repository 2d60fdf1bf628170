"""What a fresh installation needs before anybody can use it: tables, an administrator, a model that answers."""

import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management import call_command
from django.db import transaction

from agentsite.accounts.models import ApiToken, User
from agentsite.environment import env
from llm_app.models import LogicalModel, Protocol, Provider, Route


@dataclass(frozen=True, kw_only=True)
class Admin:
    """`password` only when it was made up just now: it is shown once and never again."""

    user: User
    password: str = ""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A provider that is set up from a key in the environment; X_BASE_URL beside X_API_KEY gives another address."""

    variable: str
    protocol: Protocol
    base_url: str
    model: str
    context_window: int
    takes_images: bool = True


KNOWN = (
    Known(
        variable="OPENAI_API_KEY",
        protocol=Protocol.OPENAI_NATIVE,
        base_url="https://api.openai.com/v1",
        model="gpt-5.2",
        context_window=400_000,
    ),
    Known(
        variable="ANTHROPIC_API_KEY",
        protocol=Protocol.ANTHROPIC_NATIVE,
        base_url="https://api.anthropic.com",
        model="claude-opus-4-5",
        context_window=200_000,
    ),
    Known(
        variable="GEMINI_API_KEY",
        protocol=Protocol.OPENAI_NATIVE,
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        model="gemini-2.5-pro",
        context_window=1_000_000,
    ),
    Known(
        variable="DEEPSEEK_API_KEY",
        protocol=Protocol.OPENAI_NATIVE,
        base_url="https://api.deepseek.com/v1",
        model="deepseek-chat",
        context_window=128_000,
        takes_images=False,
    ),
)


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def ensure_admin() -> Admin:
    """The administrator of `AGENTSITE_ADMIN_USERNAME`; made with a random password unless one is given."""
    name = env.str("AGENTSITE_ADMIN_USERNAME", default="admin")
    existing = User.objects.filter(username=name).first()
    admin = Admin(user=existing) if existing else _new_admin(name)
    if token := env.str("AGENTSITE_ADMIN_TOKEN", default=""):
        ApiToken.objects.set_value(admin.user, token, "AGENTSITE_ADMIN_TOKEN")
    return admin


def _new_admin(name: str) -> Admin:
    given = env.str("AGENTSITE_ADMIN_PASSWORD", default="")
    password = given or secrets.token_urlsafe(12)
    user = get_user_model().objects.create_superuser(name, password=password)
    return Admin(user=user, password="" if given else password)


@transaction.atomic
def ensure_model() -> str:
    """Sets up a provider from the first key found, as long as there is none but the demo; says what is asked.

    Raises ImproperlyConfigured for an address in the environment that is none.
    """
    if not Provider.objects.exclude(protocol=Protocol.SCRIPTED).exists():
        found = next((known for known in KNOWN if env.str(known.variable, default="")), None)
        if found is not None:
            _set_up(found)
        elif not Provider.objects.exists():
            _set_up_demo()
    route = Route.objects.usable_for("").first()
    return str(route) if route else "no model provider is set up"


def _set_up(known: Known) -> None:
    provider = _provider(known)
    provider.save()
    model = _default_model(known.context_window)
    Route.objects.filter(model=model, provider__protocol=Protocol.SCRIPTED).delete()
    Route.objects.create(model=model, provider=provider, provider_model=known.model, takes_images=known.takes_images)


def _provider(known: Known) -> Provider:
    """Raises ImproperlyConfigured for an address that is none."""
    name = known.variable.removesuffix("_API_KEY")
    address = env.str(f"{name}_BASE_URL", default="") or known.base_url
    provider = Provider(name=name.lower(), protocol=known.protocol, base_url=address, api_key=env.str(known.variable))
    try:
        provider.clean_fields()
    except ValidationError as error:
        raise ImproperlyConfigured(f"{name}_BASE_URL is {address!r}. {' '.join(error.messages)}") from error
    return provider


def _set_up_demo() -> None:
    provider = Provider.objects.create(name="demo", protocol=Protocol.SCRIPTED)
    Route.objects.create(model=_default_model(128_000), provider=provider, provider_model="demo")


def _default_model(context_window: int) -> LogicalModel:
    default = LogicalModel.objects.filter(is_default=True).first()
    if default is None:
        default = LogicalModel(name="default", is_default=True)
    default.context_window = context_window
    default.save()
    return default
