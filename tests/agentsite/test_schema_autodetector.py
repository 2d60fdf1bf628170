"""Migrations describe tables: a sentence of the admin needs none."""

from django.apps import apps
from django.db.migrations.state import ProjectState

from agentsite.management.autodetector import SchemaAutodetector


def _changes(current: ProjectState) -> set[str]:
    return set(SchemaAutodetector(ProjectState.from_apps(apps), current)._detect_changes())


def test_help_text_needs_no_migration() -> None:
    current = ProjectState.from_apps(apps)
    current.models["tasks_app", "limits"].fields["result_tokens"].help_text = "Another sentence."
    assert _changes(current) == set()


def test_column_needs_a_migration() -> None:
    current = ProjectState.from_apps(apps)
    current.models["tasks_app", "limits"].fields["result_tokens"].null = False
    assert _changes(current) == {"tasks_app"}
