"""The prepared schema of a new SQLite database, which must equal the result of all migrations."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from agentsite.management.commands import migrate
from agentsite.management.commands.migrate import FILE
from agentsite.sqlite.base import DatabaseWrapper
from tests.server import KEYS, ROOT, migrated

pytestmark = pytest.mark.sqlite

# The ids of these rows depend on the order in which `migrate` creates them, and have no meaning.
_NUMBERED = {
    "django_content_type": "SELECT app_label, model FROM django_content_type",
    "auth_permission": """SELECT app_label, model, codename, name FROM auth_permission
                          JOIN django_content_type types ON types.id = content_type_id""",
    "django_migrations": "SELECT app, name FROM django_migrations",  # their order and times differ
    "sqlite_sequence": "SELECT * FROM sqlite_sequence WHERE seq > 0",
}


def test_schema_equals_the_result_of_all_migrations(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.recorded.prepare", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=KEYS, check=True)
    assert (tmp_path / FILE.name).read_text() == FILE.read_text(), "run `make schema`"
    assert _everything(migrated() / "agentsite.sqlite3") == _everything(tmp_path / "agentsite.sqlite3")


@pytest.fixture
def empty(tmp_path: Path, django_db_blocker: Any) -> Iterator[DatabaseWrapper]:
    settings = {**connection.settings_dict, "NAME": str(tmp_path / "empty.sqlite3")}
    database = connections["empty"] = DatabaseWrapper(settings, "empty")
    with django_db_blocker.unblock():
        yield database
        database.close()
    del connections["empty"]


def test_only_an_empty_database_gets_the_schema(empty: DatabaseWrapper) -> None:
    assert migrate.create_prepared_tables(empty)
    assert not migrate.create_prepared_tables(empty)


def test_changed_migration_makes_all_migrations_run(empty: DatabaseWrapper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "digest_of", lambda migration: "another")
    assert not migrate.create_prepared_tables(empty)
    assert empty.introspection.table_names() == []


def _everything(path: Path) -> dict[str, Any]:
    """Return the tables, indexes, triggers and rows of a database."""
    with closing(sqlite3.connect(path)) as database:
        master = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        tables = [name for kind, name, _, _ in master if kind == "table"]
        rows = {name: database.execute(_NUMBERED.get(name, f'SELECT * FROM "{name}"')).fetchall() for name in tables}
    return {"master": sorted(map(repr, master)), **{name: sorted(map(repr, found)) for name, found in rows.items()}}
