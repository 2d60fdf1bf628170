"""Tools, where they come from, and where they may go."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from agentsite.configuration.section import Name, Section, WebAddress
from tools_app.models import Approval, DangerLevel, SearchEngineKind
from tools_app.network.policy import NetworkPolicy


class Tool(Section):
    name: Name
    enabled: bool = True
    danger: DangerLevel | None = None
    approval: Approval = Approval.BY_DANGER
    approvers: Name | None = None  # a role
    four_eyes: bool = False
    hosts: list[Annotated[str, StringConstraints(pattern=r"^(\*|(\*\.)?[A-Za-z0-9._-]+)$", max_length=255)]] = []


class McpServer(Section):
    name: Name
    transport: Literal["stdio", "streamable_http"]
    command: list[str] = []
    environment: dict[str, str] = {}
    url: WebAddress = ""
    headers: dict[str, str] = {}
    credential: str = ""
    description: str = ""
    timeout_s: Annotated[int, Field(ge=1)] = 60
    danger: DangerLevel = DangerLevel.MODERATE
    enabled: bool = True
    roles: list[Name] = []

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.transport == "stdio" and not self.command:
            raise ValueError("command is missing: the transport stdio needs it")
        if self.transport == "streamable_http" and not self.url:
            raise ValueError("url is missing: the transport streamable_http needs it")
        return self


def _host(text: str) -> str:
    NetworkPolicy(allow_internal=frozenset([text]))
    return text


class Network(Section):
    allow_internal: list[Annotated[str, StringConstraints(max_length=255), AfterValidator(_host)]] = []


class Search(Section):
    provider: SearchEngineKind
    api_key: SecretStr = SecretStr("")
    base_url: WebAddress = ""

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.provider == SearchEngineKind.SEARXNG and not self.base_url:
            raise ValueError("base_url is missing: searxng needs the address of your server")
        return self
