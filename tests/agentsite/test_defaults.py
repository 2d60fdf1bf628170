"""Defaults have one definition: documentation, forms and files repeat the same values."""

import ast
import json
import re
from dataclasses import asdict
from typing import Any

import pytest
import yaml
from django.db import models

from agentsite.configuration.agents import AgentSection
from agentsite.configuration.models import ModelSection, ProviderSection, RouteSection
from agentsite.configuration.people import LimitsSection
from agentsite.configuration.section import ConfigurationSection
from agentsite.configuration.tools import McpServerSection, ToolSection
from llm_app.breaker.rules import Thresholds
from llm_app.models import LogicalModel, Provider, Route
from tasks_app.models import Agent, Limits
from tests.server import ROOT
from tools_app.models import McpServer, ToolSetting

PAIRS = [
    (AgentSection, Agent),
    (LimitsSection, Limits),
    (McpServerSection, McpServer),
    (ModelSection, LogicalModel),
    (ProviderSection, Provider),
    (RouteSection, Route),
    (ToolSection, ToolSetting),
]
DEFERRED = {"breaker", "priority", "danger", "roles", "price"}  # None or empty there: another default applies


@pytest.mark.parametrize(("section", "model"), PAIRS)
def test_configuration_file_uses_defaults_of_columns(
    section: type[ConfigurationSection], model: type[models.Model]
) -> None:
    columns = {field.name: field for field in model._meta.concrete_fields if field.has_default()}
    shared = section.model_fields.keys() & columns.keys() - DEFERRED
    assert shared
    for name in shared:
        default = section.model_fields[name].get_default(call_default_factory=True)
        default = default.get_secret_value() if hasattr(default, "get_secret_value") else default
        assert default == columns[name].get_default(), name


def test_example_shows_defaults_of_limits() -> None:
    shown = yaml.safe_load((ROOT / "docs" / "agentsite.example.yml").read_text())["limits"]
    chosen = {"budget", "tool_call_limit", "result_tokens", "title_model"}  # without a default
    assert {name: Limits._meta.get_field(name).get_default() for name in shown.keys() - chosen} == {
        name: value for name, value in shown.items() if name not in chosen
    }


def test_reminders_page_shows_defaults_of_limits() -> None:
    shown = re.findall(r"`(\w+)` \((\d+)", (ROOT / "docs" / "reminders.md").read_text())
    assert len(shown) > 4
    for name, value in shown:
        assert Limits._meta.get_field(name).get_default() == int(value), name


def test_admin_shows_defaults_of_breakers() -> None:
    text = (ROOT / "llm_app" / "admin" / "providers.py").read_text()
    (shown,) = re.findall(r"If empty: (\{.*?\})", text)
    assert json.loads(shown) == asdict(Thresholds())


def from_environment() -> dict[str, Any]:
    """Return each variable that is read, with its default if that is a literal."""
    found: dict[str, Any] = {}
    for file in (ROOT / "agentsite").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            is_read = isinstance(node, ast.Call) and re.fullmatch(r"env\.\w+", ast.unparse(node.func)) and node.args
            if is_read and isinstance(node.args[0], ast.Constant):
                given = {keyword.arg: keyword.value for keyword in node.keywords}.get("default")
                default = given.value if isinstance(given, ast.Constant) else None
                name = node.args[0].value
                assert found.setdefault(name, default) == default, f"{name} has two defaults"
    return found


def test_environment_variables_are_documented_with_defaults() -> None:
    rows = re.findall(r"^\| (`[A-Z].*?) \|.*\| (.*?) \|$", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    documented = {name: default for names, default in rows for name in re.findall(r"`([A-Z_]+)`", names)}
    for name, default in from_environment().items():
        assert name in documented, name
        if isinstance(default, int) and not isinstance(default, bool):
            assert str(default) in documented[name]
