"""The version of the settings increases with every change that affects a step, and with nothing else."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.db.utils import ConnectionHandler

from tasks_app.models import Limits, Project, ProjectMember, SessionMember
from tasks_app.runtime import settings_version
from tasks_app.services import projects
from tasks_app.text import full_text
from tests import factories
from tools_app.models import RolePolicy, ToolSetting

pytestmark = pytest.mark.django_db


def version() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT version FROM settings_version")
        return int(cursor.fetchone()[0])


def test_saves_bulk_updates_and_deletions_raise_it() -> None:
    versions = [version()]
    for change in (
        lambda: ToolSetting.objects.create(name="shell"),
        lambda: ToolSetting.objects.filter(name="shell").update(enabled=False),
        lambda: ToolSetting.objects.all().delete(),
        lambda: Limits.objects.create(pk=1, max_iterations=3),
    ):
        change()
        versions.append(version())
    assert versions == sorted(set(versions))


def test_a_role_given_and_taken_raises_it() -> None:
    user, role = factories.UserFactory(), Group.objects.create(name="analysts")
    RolePolicy.objects.create(role=role, deny=["shell"])
    before = version()
    user.groups.add(role)
    given = version()
    user.groups.remove(role)
    assert before < given < version()


def test_changed_writers_raise_the_version() -> None:
    session, project = factories.SessionFactory(), Project.objects.create(owner=factories.UserFactory(), name="Plans")
    versions = [version()]
    for change in (
        lambda: SessionMember.objects.create(session=session, user=project.owner, may_write=True),
        lambda: ProjectMember.objects.create(project=project, user=session.owner),
        lambda: ProjectMember.objects.update(may_write=True),
        lambda: projects.move_session(session, project),
    ):
        change()
        versions.append(version())
    assert versions == sorted(set(versions))


def test_the_record_does_not_raise_the_version() -> None:
    task = factories.TaskFactory()
    before = version()
    task.session.save()
    task.save()
    assert version() == before


def test_rebuilt_tables_get_their_triggers_again() -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER tool_settings_update_version")
        settings_version.install(connection.alias)
    setting = ToolSetting.objects.create(name="shell")
    before = version()
    setting.save()
    assert version() > before


@pytest.mark.parametrize("module", [settings_version, full_text])
def test_missing_tables_get_no_triggers(module: Any, monkeypatch: Any) -> None:
    empty = ConnectionHandler({"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
    monkeypatch.setattr(module, "connections", empty)
    module.install("default")
    with empty["default"].cursor() as cursor:
        cursor.execute("CREATE TABLE limits (id integer)")
        cursor.execute("CREATE TABLE memory_notes (id integer, terms text)")
        module.install("default")
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")
        assert cursor.fetchone() == (3,)
    empty.close_all()
