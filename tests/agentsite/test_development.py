"""The version, defined once, and the development server."""

import re
import subprocess
import sys
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentsite.accounts.models import User
from agentsite.environment import VERSION
from agentsite.management.commands import dev
from agentsite.serving.web import CannotServe, serve
from tasks_app.models import Task
from tests.server import ROOT


def test_changelog_has_the_projects_version() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    versions = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)", heading) for heading in headings[1:]]
    assert all(versions)
    assert versions[0][1] == VERSION
    dates = [version[2] for version in versions]
    assert dates == sorted(dates, reverse=True)


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_version_command_prints_the_version(argument: str) -> None:
    said = subprocess.run([sys.executable, "manage.py", argument], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == f"{VERSION}\n"


def test_debug_is_limited_to_this_machine(settings: Any) -> None:
    settings.DEBUG = True
    with pytest.raises(CannotServe, match="DEBUG"):
        serve("0.0.0.0", 0, say=print)


def test_development_server_needs_debug() -> None:
    with pytest.raises(CommandError, match="make dev"):
        call_command("dev")


@pytest.mark.django_db
def test_demo_data_is_added_once() -> None:
    for _ in range(2):
        dev.add_demo_data()
    assert set(User.objects.values_list("username", flat=True)) == {"admin", "ada", "bob"}
    assert Task.objects.count() == 3
