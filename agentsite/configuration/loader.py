"""The loader of a configuration file, which returns a validated configuration or reports all mistakes together.

`Configuration` checks the structure. Repeated names and unknown references are searched in the raw data, which may
have any structure.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from pydantic import ValidationError

from agentsite.configuration.agents import AgentSection, WorkflowSection
from agentsite.configuration.document import ConfigurationError, Location, Mistake, YamlDocument, location_text
from agentsite.configuration.models import ModelSection, ProviderSection
from agentsite.configuration.people import LimitsSection, RoleSection, UserSection
from agentsite.configuration.routing import RuleSection
from agentsite.configuration.section import ConfigurationSection
from agentsite.configuration.tools import McpServerSection, NetworkSection, SearchSection, ToolSection
from agentsite.configuration.tracing import SinkSection
from agentsite.environment import env
from llm_app.models import LogicalModel, Provider
from tasks_app.models import Agent

_UNIQUE = (
    ("providers", "name"),
    ("models", "name"),
    ("roles", "name"),
    ("tools", "name"),
    ("users", "username"),
    ("users", "api_token"),
    ("agents", "name"),
    ("workflows", "name"),
    ("mcp_servers", "name"),
    ("routing", "name"),
    ("tracing", "name"),
)
LocatedMistake = tuple[Location, str]


class Configuration(ConfigurationSection):
    """The entire file, with the names of the public interface. Settings that it does not mention stay unchanged."""

    providers: list[ProviderSection] = []
    models: list[ModelSection] = []
    roles: list[RoleSection] = []
    tools: list[ToolSection] = []
    users: list[UserSection] = []
    agents: list[AgentSection] = []
    workflows: list[WorkflowSection] = []
    limits: LimitsSection = LimitsSection()
    mcp_servers: list[McpServerSection] = []
    network: NetworkSection = NetworkSection()
    search: SearchSection | None = None
    routing: list[RuleSection] = []
    tracing: list[SinkSection] = []


@dataclass(frozen=True, kw_only=True)
class LoadedConfiguration:
    """A loaded file. `content` is a canonical text of its data: layout and comments do not change it."""

    path: Path
    configuration: Configuration
    content: str


def load(path: Path, environment: Mapping[str, str] = env.ENVIRON) -> LoadedConfiguration:
    """Read and check a file, also against existing rows.

    Raises: ConfigurationError with all mistakes.
    """
    document = YamlDocument(_text(path), environment)
    configuration: Configuration | None = None
    mistakes = list(document.mistakes)
    located_mistakes = list(_reference_mistakes(document.data, _ExistingNames.from_database()))
    try:
        configuration = Configuration.model_validate({} if document.data is None else document.data)
    except ValidationError as error:
        details = error.errors(include_input=False, include_url=False)
        located_mistakes += [(detail["loc"], _sentence(detail["type"], detail["msg"])) for detail in details]
    mistakes += [
        Mistake(document.line_of(at), f"{location_text(at)}: {text}" if at else text) for at, text in located_mistakes
    ]
    if mistakes or configuration is None:
        raise ConfigurationError(path, mistakes)
    return LoadedConfiguration(
        path=path, configuration=configuration, content=json.dumps(document.data, sort_keys=True)
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(path, [Mistake(1, f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(path, [Mistake(1, "is not a text in UTF-8")]) from error


def _sentence(kind: str, message: str) -> str:
    fixed: dict[str, Any] = {
        "extra_forbidden": "there is no such key",
        "missing": "is missing",
        "model_type": "should be a mapping",
        "model_attributes_type": "should be a mapping",
    }
    return str(fixed.get(kind, message.removeprefix("Value error, ").removeprefix("Input ")))


@dataclass(frozen=True, kw_only=True)
class _ExistingNames:
    """Names that exist in this installation, in addition to those in the file."""

    providers: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()

    @classmethod
    def from_database(cls) -> "_ExistingNames":
        return cls(
            providers=frozenset(Provider.objects.values_list("name", flat=True)),
            roles=frozenset(Group.objects.values_list("name", flat=True)),
            models=frozenset(LogicalModel.objects.values_list("name", flat=True)),
            agents=frozenset(Agent.objects.values_list("name", flat=True)),
        )


def _reference_mistakes(data: Any, existing: _ExistingNames) -> Iterator[LocatedMistake]:
    for section, key in _UNIQUE:
        yield from _repeated(data, section, key)
    yield from _repeated_routes(data)
    providers = existing.providers | _names(data, "providers")
    for location, name in _route_providers(data):
        if name not in providers:
            yield location, f"there is no provider called {name!r}"
    roles = existing.roles | _names(data, "roles")
    for location, name in chain(_listed_roles(data), _approver_roles(data)):
        if name not in roles:
            yield location, f"there is no role called {name!r}"
    models = existing.models | _names(data, "models")
    for location, agent in _items(data, ("agents",)):
        for field in ("model", "review_model"):
            if isinstance(model := agent.get(field), str) and model not in models:
                yield (*location, field), f"there is no model called {model!r}"
        for number, name in enumerate(_list(agent.get("handoffs"))):
            if isinstance(name, str) and name not in existing.agents | _names(data, "agents"):
                yield (*location, "handoffs", number), f"there is no agent called {name!r}"


def _repeated(data: Any, section: str, key: str) -> Iterator[LocatedMistake]:
    first: dict[str, Location] = {}
    for location, item in _items(data, (section,)):
        value = item.get(key)
        if not isinstance(value, str):
            continue
        if value in first:
            yield (*location, key), f"the same {key} as {location_text(first[value])}"
        first.setdefault(value, location)


def _repeated_routes(data: Any) -> Iterator[LocatedMistake]:
    for model, _ in _items(data, ("models",)):
        targets: set[tuple[str, str]] = set()
        for location, route in _items(data, (*model, "providers")):
            target = (str(route.get("provider")), str(route.get("model")))
            if target in targets:
                yield location, f"the same provider and model appear twice in {location_text(model)}"
            targets.add(target)


def _route_providers(data: Any) -> Iterator[tuple[Location, str]]:
    for model, _ in _items(data, ("models",)):
        for location, route in _items(data, (*model, "providers")):
            if isinstance(name := route.get("provider"), str):
                yield (*location, "provider"), name


def _listed_roles(data: Any) -> Iterator[tuple[Location, str]]:
    for section in ("models", "users", "mcp_servers", "tools"):
        for location, item in _items(data, (section,)):
            for number, name in enumerate(_list(item.get("roles"))):
                if isinstance(name, str):
                    yield (*location, "roles", number), name


def _approver_roles(data: Any) -> Iterator[tuple[Location, str]]:
    for location, tool in _items(data, ("tools",)):
        if isinstance(name := tool.get("approvers"), str):
            yield (*location, "approvers"), name


def _names(data: Any, section: str) -> frozenset[str]:
    return frozenset(str(item.get("name")) for _, item in _items(data, (section,)))


def _items(data: Any, location: Sequence[str | int]) -> Iterator[tuple[tuple[str | int, ...], dict[Any, Any]]]:
    """Yield the mappings of the list at `location`, each with its own location."""
    for part in location:
        data = data.get(part) if isinstance(data, dict) else _list(data)[part] if isinstance(part, int) else None
    for number, item in enumerate(_list(data)):
        if isinstance(item, dict):
            yield (*location, number), item


def _list(data: Any) -> list[Any]:
    return data if isinstance(data, list) else []
