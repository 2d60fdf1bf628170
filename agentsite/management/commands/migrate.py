"""Django's command `migrate`, which creates the tables of a new SQLite database from a prepared script.

Running all migrations takes 4 s of CPU time, the script 0.05 s. It has the result of all migrations on an empty
database, and lists them with digests of their files. If one of these files has changed or is gone, the migrations
run instead. Newer ones run after the script, as in any database. Additions by signals after a migration (triggers,
permissions) are not in it.
"""

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from agentsite.environment import BASE_DIR
from agentsite.management.autodetector import SchemaAutodetector
from agentsite.serving.first_start import preparation_lock

FILE = BASE_DIR / "agentsite" / "sqlite" / "prepared_schema.sql"  # written by `make schema`
LAST_UNSQUASHED = "977ba01"  # the last commit with every single migration
MIGRATION_PREFIX, SEPARATOR = "-- ", ";\n"
Migration = tuple[str, str]  # app and name


class Command(migrate.Command):
    autodetector = SchemaAutodetector

    def handle(self, *args: Any, **options: Any) -> None:
        partial_options = ("app_label", "plan", "check_unapplied", "fake", "prune", "run_syncdb")
        if not any(options[name] for name in partial_options):
            create_prepared_tables(connections[options["database"]])
        try:
            with preparation_lock():
                super().handle(*args, **options)
        except (CommandError, NodeNotFoundError) as error:
            if not has_part_of_a_squashed_migration(connections[options["database"]]):
                raise
            raise CommandError(
                f"This database is of a day between two versions before 1.0. Run `migrate` of commit {LAST_UNSQUASHED} "
                "on it once, then this one again."
            ) from error


def has_part_of_a_squashed_migration(database: BaseDatabaseWrapper) -> bool:
    applied = set(MigrationRecorder(database).applied_migrations())
    replaced = [set(migration.replaces) for migration in MigrationLoader(None).disk_migrations.values()]
    return any(names & applied and not names <= applied for names in replaced)


def create_prepared_tables(database: BaseDatabaseWrapper) -> bool:
    """Create the tables of an empty SQLite database. For any other, do nothing and return False."""
    if database.vendor != "sqlite" or database.introspection.table_names():
        return False
    migrations, statements = _read()
    if any(digest_of(migration) != digest for migration, digest in migrations.items()):
        return False
    with transaction.atomic(using=database.alias), database.cursor() as cursor:
        if database.introspection.table_names(cursor):  # another process was first
            return False
        for statement in statements:
            cursor.execute(statement)
        rows: models.QuerySet[models.Model] = MigrationRecorder(database).migration_qs
        rows.bulk_create(rows.model(app=app, name=name) for app, name in migrations)
    return True


def digest_of(migration: Migration) -> str:
    """Return the digest of a migration's file, "-" for one that another replaces."""
    app, name = migration
    folder = find_spec(f"{apps.get_app_config(app).name}.migrations")
    path = Path(folder.origin if folder and folder.origin else "").with_name(f"{name}.py")
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else "-"


def _read() -> tuple[dict[Migration, str], list[str]]:
    """Return the migrations with their digests, and the statements."""
    text = FILE.read_text()
    head = [
        line.removeprefix(MIGRATION_PREFIX).split() for line in text.splitlines() if line.startswith(MIGRATION_PREFIX)
    ]
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(MIGRATION_PREFIX))
    return {(app, name): digest for app, name, digest in head}, body.split(SEPARATOR)[:-1]
