"""Makes the installation what the file says: creates and updates by name, in one transaction."""

from collections.abc import Iterator

from django.db import transaction

from agentsite.configuration.load import Loaded
from agentsite.configuration.schema import Configuration
from agentsite.configuration.sections import (
    agents,
    limits,
    logical_models,
    mcp_servers,
    network,
    providers,
    roles,
    search,
    tools,
    users,
    workflows,
)
from agentsite.models import AppliedValue

# Raised when a section takes effect that had none: an unchanged file is applied again after the upgrade.
_EFFECT = 3


def apply(loaded: Loaded) -> list[str]:
    """Returns what changed, in words. A second call with the same file changes nothing."""
    with transaction.atomic():
        changes = list(_changes(loaded.configuration))
        AppliedValue.objects.remember(*_signature(loaded))
    return changes


def preview(loaded: Loaded) -> list[str]:
    """What `apply` would change: it is done and taken back."""
    with transaction.atomic():
        changes = list(_changes(loaded.configuration))
        transaction.set_rollback(True)
    return changes


def apply_if_new(loaded: Loaded) -> list[str]:
    """Nothing happens to a file that says what it said when it was applied last."""
    with transaction.atomic():
        name, content = _signature(loaded)
        AppliedValue.objects.get_or_create(name=name)
        AppliedValue.objects.select_for_update().get(name=name)  # a team's servers start together: one of them applies
        return apply(loaded) if AppliedValue.objects.is_new(name, content) else []


def _changes(configuration: Configuration) -> Iterator[str]:
    yield from roles.apply(configuration.roles)
    yield from providers.apply(configuration.providers)
    yield from logical_models.apply(configuration.models)
    yield from tools.apply(configuration.tools)
    yield from users.apply(configuration.users)
    yield from agents.apply(configuration.agents)
    yield from workflows.apply(configuration.workflows)
    yield from limits.apply(configuration.limits)
    yield from network.apply(configuration.network)
    yield from search.apply(configuration.search)
    yield from mcp_servers.apply(configuration.mcp_servers)


def _signature(loaded: Loaded) -> tuple[str, str]:
    return f"file {loaded.path.resolve()}", f"{_EFFECT} {loaded.content}"
