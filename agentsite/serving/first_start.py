"""The preparation of a new installation: tables, an administrator, and a model that answers."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from agentsite.accounts.models import ApiToken, User
from agentsite.environment import BASE_DIR, env
from llm_app.models import LogicalModel, Protocol, Provider, Route
from llm_app.pricing import unpriced
from llm_app.provider_status import status_of
from llm_app.setup import KNOWN_PROVIDERS, KnownProvider, connect
from tools_app.models import ToolSetting

_LOCK = 0x6167656E7473  # "agents", a key of PostgreSQL's advisory locks


@contextmanager
def preparation_lock() -> Iterator[None]:
    """Hold the lock for preparing a team's database: webs start together, or a person runs a command."""
    if connection.vendor != "postgresql":
        yield
        return
    holder = connection.copy()  # a separate session, which nothing below closes
    try:
        with holder.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    finally:
        holder.close()


@dataclass(frozen=True, kw_only=True)
class Admin:
    """An administrator. `password` is only set if it was generated now: it is shown once and never again."""

    user: User
    password: str = ""


def migrate() -> None:
    """Run the migrations. On PostgreSQL a subprocess does, as Python would not return the 60 MiB that they take."""
    if connection.vendor == "postgresql" and _has_pending_migrations():
        result = subprocess.run(
            [sys.executable, BASE_DIR / "manage.py", "migrate", "--verbosity=0", "--no-input"], check=False
        )
        if result.returncode:
            sys.exit(result.returncode)  # the subprocess has reported the error
    else:  # a new SQLite database gets its tables from a script
        call_command("migrate", verbosity=0, interactive=False)


def _has_pending_migrations() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def ensure_admin() -> Admin:
    """Return the administrator of `AGENTSITE_ADMIN_USERNAME`, or else the first existing one.

    Without any, create it, with the password of `AGENTSITE_ADMIN_PASSWORD` or a random one.

    Raises: ImproperlyConfigured if a user without the rights has the name.
    """
    name = env.str("AGENTSITE_ADMIN_USERNAME", default="admin")
    administrators = User.administrators()
    existing = administrators.filter(username=name).first() or administrators.order_by("pk").first()
    admin = Admin(user=existing) if existing else _new_admin(name)
    if token := env.str("AGENTSITE_ADMIN_TOKEN", default=""):
        ApiToken.objects.set_value(admin.user, token, "AGENTSITE_ADMIN_TOKEN")
    return admin


def _new_admin(name: str) -> Admin:
    if User.objects.filter(username=name).exists():
        raise ImproperlyConfigured(
            f"There is no active administrator, and {name} is none. Set AGENTSITE_ADMIN_USERNAME to a new name."
        )
    password = env.str("AGENTSITE_ADMIN_PASSWORD", default="")
    generated = "" if password else secrets.token_urlsafe(12)
    user = get_user_model().objects.create_superuser(name, password=password or generated)
    return Admin(user=user, password=generated)


def ensure_model() -> str:
    """Set up a provider from the first key in the environment, or the demo, unless there is a real one.

    Return the model that answers, which is a guess until `connect_model` has called the provider.

    Raises: ImproperlyConfigured for an invalid address in the environment.
    """
    if not Provider.objects.exclude(protocol=Protocol.SCRIPTED).exists():
        if known := _known_provider():
            connect.adopt(connect.guess(known, _provider(known)))
        else:
            _ensure_demo()
    return answering_model()


def ensure_packages() -> None:
    """Let commands install packages if the environment says so and nobody has decided about commands yet."""
    if settings.PACKAGES and not ToolSetting.objects.filter(name="shell").exists():
        ToolSetting.objects.allow_packages()


def packages_sentence() -> str:
    """Return whether commands can install packages, or how to let them; '' once an administrator has refused it."""
    setting = ToolSetting.objects.filter(name="shell").first()
    if setting is None:
        return "commands cannot install any; AGENTSITE_PACKAGES=1 lets them, from PyPI and npm"
    return "commands can install them from PyPI and npm" if setting.can_install_packages else ""


def answering_model() -> str:
    route = Route.objects.usable_for("").first()
    return str(route) if route else "no model provider is set up"


def model_error() -> str:
    """Return the reason of the last failure of the default model in words, '' if it did not fail."""
    route = Route.objects.usable_for("").first()
    status = status_of(route) if route else None
    return status.sentence if status and status.works is False else ""


def connect_model() -> str:
    """Ask the provider of the key in the environment for its models and try one. Return the verdict in words.

    Return '' if there is nothing to try: no key, a model that works, or providers that somebody has configured. A
    model that failed at the last start is tried again, also with another key.
    """
    known, route = _known_provider(), Route.objects.usable_for("").first()
    if known is None or route is None or not _needs_connection(known, route):
        return ""
    provider = _provider(known)
    chosen = route.provider_model if route.provider.listed_models else ""
    connection = connect.connect(known, provider, chosen)
    if connection.outcome.ok or provider.api_key == route.provider.api_key:
        connect.adopt(connection, replaced=route)
    missing_price = unpriced.warning([connection.route]) if connection.outcome.ok else ""
    return f"{connection.verdict} {missing_price}".rstrip()


def _needs_connection(known: KnownProvider, route: Route) -> bool:
    """Return whether the route was set up from the environment, and its last test failed or is still to come."""
    if env.str("AGENTSITE_CONFIG", default=""):
        return False
    names = list(Provider.objects.exclude(protocol=Protocol.SCRIPTED).values_list("name", flat=True))
    return names == [known.name] and status_of(route).works is False


def _known_provider() -> KnownProvider | None:
    return next((known for known in KNOWN_PROVIDERS if env.str(known.variable, default="")), None)


def _provider(known: KnownProvider) -> Provider:
    """Return the provider of a key in the environment.

    Raises: ImproperlyConfigured for an invalid address.
    """
    address = env.str(known.address_variable, default="")
    provider = known.provider(env.str(known.variable), address)
    try:
        provider.clean_fields(exclude=["listed_models"])
    except ValidationError as error:
        raise ImproperlyConfigured(f"{known.address_variable} is {address!r}. {' '.join(error.messages)}") from error
    return provider


@transaction.atomic
def _ensure_demo() -> None:
    """Route the default model to the demo if it has no route."""
    default, _ = LogicalModel.objects.get_or_create(is_default=True, defaults={"name": "default"})
    if not default.routes.exists():
        provider, _ = Provider.objects.get_or_create(name="demo", defaults={"protocol": Protocol.SCRIPTED})
        Route.objects.create(model=default, provider=provider, provider_model="demo")
