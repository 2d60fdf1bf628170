"""The sections `tools`, `mcp_servers`, `network` and `search`: tools, and the servers that they reach."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

from django.contrib.auth.models import Group
from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from agentsite.configuration.section import ConfigurationSection, Name, WebAddress, default_of, save_changes, save_roles
from llm_app.models import ServiceKey
from tools_app.models import (
    AllowedAddress,
    ApprovalMode,
    DangerLevel,
    McpServer,
    SearchEngine,
    SearchEngineKind,
    ToolSetting,
)
from tools_app.network import NetworkPolicy


class ToolSection(ConfigurationSection):
    name: Name
    enabled: bool = True
    danger: DangerLevel | None = None
    approval: ApprovalMode = ApprovalMode.BY_DANGER
    approvers: Name | None = None  # a role
    four_eyes: bool = False
    roles: list[Name] = []  # members of these can use it; none: everyone
    hosts: list[Annotated[str, StringConstraints(pattern=r"^(\*|(\*\.)?[A-Za-z0-9._-]+)$", max_length=255)]] = []


class McpServerSection(ConfigurationSection):
    name: Name
    transport: Literal["stdio", "streamable_http"]
    command: list[str] = []
    environment: dict[str, str] = {}
    url: WebAddress = ""
    headers: dict[str, str] = {}
    credential: str = ""
    description: str = ""
    timeout_s: Annotated[int, Field(ge=1)] = default_of(McpServer, "timeout_s")
    danger: DangerLevel = DangerLevel.MODERATE
    trusts_annotations: bool = False
    enabled: bool = True
    roles: list[Name] = []
    loop_exempt: list[Name] = []  # tools that are not checked for repeated calls

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.transport == "stdio" and not self.command:
            raise ValueError("command is missing: the transport stdio needs it")
        if self.transport == "streamable_http" and not self.url:
            raise ValueError("url is missing: the transport streamable_http needs it")
        return self


def _check_address(text: str) -> str:
    NetworkPolicy(allow_internal=frozenset([text]))
    return text


class NetworkSection(ConfigurationSection):
    allow_internal: list[Annotated[str, StringConstraints(max_length=255), AfterValidator(_check_address)]] = []


class SearchSection(ConfigurationSection):
    provider: SearchEngineKind
    api_key: SecretStr = SecretStr("")
    base_url: WebAddress = ""

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.provider == SearchEngineKind.SEARXNG and not self.base_url:
            raise ValueError("base_url is missing: searxng needs the address of your server")
        return self


def apply_tools(tools: Sequence[ToolSection]) -> Iterator[str]:
    for item in tools:
        values = item.values_in_file("name", "danger", "approvers", "roles")
        if "danger" in item.model_fields_set:
            values["danger"] = item.danger or ""
        if "approvers" in item.model_fields_set:
            values["approvers"] = Group.objects.filter(name=item.approvers).first()
        row = ToolSetting.objects.filter(name=item.name).first() or ToolSetting(name=item.name)
        yield from save_changes(row, values, f"tool {item.name}")
        if "roles" in item.model_fields_set:
            yield from save_roles(row, item.roles, f"tool {item.name}")


def apply_mcp_servers(servers: Sequence[McpServerSection]) -> Iterator[str]:
    """Save the servers. A worker lists the tools of a new or changed one within seconds."""
    for item in servers:
        row = McpServer.objects.filter(name=item.name).first() or McpServer(name=item.name)
        changes = list(save_changes(row, item.values_in_file("name", "roles"), f"MCP server {item.name}"))
        if changes:
            McpServer.objects.filter(pk=row.pk).update(listed_at=None)
        yield from changes
        if "roles" in item.model_fields_set:
            yield from save_roles(row, item.roles, f"MCP server {item.name}")


def apply_network(network: NetworkSection) -> Iterator[str]:
    for address in network.allow_internal:
        row = AllowedAddress.objects.filter(address=address).first() or AllowedAddress(address=address)
        yield from save_changes(row, {}, f"network: internal address {address}")


def apply_search(search: SearchSection | None) -> Iterator[str]:
    """Save the engine, named after its kind. Other engines stay and are used when it fails."""
    if search is None:
        return
    label, values = f"search engine {search.provider}", search.values_in_file("provider", "api_key")
    row = SearchEngine.objects.filter(name=search.provider).first() or SearchEngine(name=search.provider)
    yield from save_changes(row, {"kind": search.provider, **values}, label)
    if "api_key" in search.model_fields_set and ServiceKey.store(row.key_name, search.api_key.get_secret_value()):
        yield f"{label}: api_key changed"
