"""The application of a configuration file: rows are created and updated by name, in one transaction."""

from collections.abc import Iterator
from pathlib import Path

from django.db import transaction

from agentsite.configuration.agents import apply_agents, apply_workflows
from agentsite.configuration.loader import Configuration, LoadedConfiguration, load
from agentsite.configuration.models import apply_models, apply_providers
from agentsite.configuration.people import apply_limits, apply_roles, apply_users
from agentsite.configuration.routing import apply_routing, update_shipped_rules
from agentsite.configuration.tools import apply_mcp_servers, apply_network, apply_search, apply_tools
from agentsite.configuration.tracing import apply_tracing
from agentsite.environment import env
from agentsite.models import AppliedValue
from llm_app.pricing import unpriced
from tools_app.contract import registry
from tools_app.models import AllowedAddress

# Increase this when a section newly takes effect: unchanged files are then applied again after the upgrade.
_EFFECT_VERSION = 4
_MIN_TOKEN_LENGTH = 24  # characters
SHIPPED_RULES = Path(__file__).with_name("helper_texts.yml")


def apply_at_start() -> list[str]:
    """Apply the file of `AGENTSITE_CONFIG` if it changed since it was last applied. Return the changes in words.

    Raises: ConfigurationError.
    """
    path = env.str("AGENTSITE_CONFIG", default="")
    return apply_if_new(load(Path(path))) if path else []


def create_shipped_rules() -> None:
    """Create the shipped routing rules, once for each version of them. A configuration file can change them later."""
    name, content = "helper texts", SHIPPED_RULES.read_text(encoding="utf-8")
    if AppliedValue.objects.is_new(name, content):
        with transaction.atomic():
            update_shipped_rules(load(SHIPPED_RULES).configuration.routing)
            AppliedValue.objects.remember(name, content)


def apply(loaded: LoadedConfiguration) -> list[str]:
    """Apply a file and return the changes in words. A second call with the same file changes nothing."""
    with transaction.atomic():
        changes = list(_changes(loaded.configuration))
        AppliedValue.objects.remember(*_signature(loaded))
    return changes


def apply_if_new(loaded: LoadedConfiguration) -> list[str]:
    """Apply the file only if its content differs from the last one applied."""
    with transaction.atomic():
        name, content = _signature(loaded)
        AppliedValue.objects.get_or_create(name=name)
        AppliedValue.objects.select_for_update().get(name=name)  # servers of a team start together; one applies it
        return apply(loaded) if AppliedValue.objects.is_new(name, content) else []


def _changes(configuration: Configuration) -> Iterator[str]:
    yield from apply_roles(configuration.roles)
    yield from apply_providers(configuration.providers)
    yield from apply_models(configuration.models)
    yield from apply_tools(configuration.tools)
    yield from apply_users(configuration.users)
    yield from apply_agents(configuration.agents)
    yield from apply_workflows(configuration.workflows)
    yield from apply_limits(configuration.limits)
    yield from apply_network(configuration.network)
    yield from apply_search(configuration.search)
    yield from apply_mcp_servers(configuration.mcp_servers)
    yield from apply_routing(configuration.routing)
    yield from apply_tracing(configuration.tracing)


def _signature(loaded: LoadedConfiguration) -> tuple[str, str]:
    return f"file {loaded.path.resolve()}", f"{_EFFECT_VERSION} {loaded.content}"


def notes(configuration: Configuration) -> Iterator[str]:
    """Yield advice about an applied file: not mistakes, but worth knowing for an operator."""
    yield from _unknown_tools(configuration)
    yield from _removed_addresses(configuration)
    for user in configuration.users:
        if user.api_token and len(user.api_token.get_secret_value()) < _MIN_TOKEN_LENGTH:
            yield f"user {user.username}: the api_token is short; take {_MIN_TOKEN_LENGTH} random characters or more"
    if sentence := unpriced.warning_for_budgets():
        yield f"prices: {sentence}"


def _unknown_tools(configuration: Configuration) -> Iterator[str]:
    named = {tool.name for tool in configuration.tools}
    for role in configuration.roles:
        named.update(role.tools.allow, role.tools.deny)
    for name in sorted(named - {tool.name for tool in registry.all_tools()}):
        yield f"tool {name}: there is no such tool at the moment; the setting is kept"


def _removed_addresses(configuration: Configuration) -> Iterator[str]:
    """Yield the addresses that are not in the file: they stay allowed until they are removed in the admin."""
    if "network" in configuration.model_fields_set:
        present = AllowedAddress.objects.exclude(address__in=configuration.network.allow_internal)
        for address in present.values_list("address", flat=True):
            yield f"network: {address} is not in the file and stays allowed; remove it in the admin"
