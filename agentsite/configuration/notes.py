"""What an operator should know about a configuration file although it is no mistake."""

from collections.abc import Iterator

from agentsite.configuration.schema import Configuration
from tools_app.contract import registry
from tools_app.models import AllowedAddress

_SHORT_TOKEN = 24  # characters


def notes(configuration: Configuration) -> Iterator[str]:
    yield from _unknown_tools(configuration)
    yield from _still_allowed(configuration)
    for user in configuration.users:
        if user.api_token and len(user.api_token.get_secret_value()) < _SHORT_TOKEN:
            yield f"user {user.username}: the api_token is short; take {_SHORT_TOKEN} random characters or more"


def _unknown_tools(configuration: Configuration) -> Iterator[str]:
    named = {tool.name for tool in configuration.tools}
    for role in configuration.roles:
        named.update(role.tools.allow, role.tools.deny)
    for name in sorted(named - {tool.name for tool in registry.all_tools()}):
        yield f"tool {name}: there is no such tool at the moment; the setting is kept"


def _still_allowed(configuration: Configuration) -> Iterator[str]:
    """Nothing is deleted, so an address that left the file stays open until a person closes it."""
    if "network" in configuration.model_fields_set:
        present = AllowedAddress.objects.exclude(address__in=configuration.network.allow_internal)
        for address in present.values_list("address", flat=True):
            yield f"network: {address} is not in the file and stays allowed; remove it in the admin"
