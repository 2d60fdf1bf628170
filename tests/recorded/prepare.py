"""The command that writes the prepared schema of a new SQLite database, after a migration was added:

    make schema         (python -m tests.recorded.prepare)

It takes as long as all migrations, some seconds.
"""

import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    for variable in ("DATABASE_URL", "REDIS_URL", "AGENTSITE_CONFIG"):
        os.environ.pop(variable, None)
    os.environ["DJANGO_SETTINGS_MODULE"] = "agentsite.settings"
    import django

    with tempfile.TemporaryDirectory(prefix="agentsite-schema-") as temporary:
        folder = sys.argv[1] if sys.argv[1:] else temporary  # for the database, and then for the script, too
        os.environ["AGENTSITE_VAR"] = folder
        django.setup()
        from agentsite.management.commands.migrate import FILE

        (Path(folder, FILE.name) if sys.argv[1:] else FILE).write_text(_migrate())


def _migrate() -> str:
    """Runs all migrations, one by one, as `migrate` does; what they made."""
    from django.core.management.sql import emit_post_migrate_signal
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=OFF")
    state = executor.migrate(executor.loader.graph.leaf_nodes())
    script = _script()
    emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias, apps=state.apps, plan=[])
    return script


def _script() -> str:
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    from agentsite.management.commands.migrate import MIGRATION_PREFIX, SEPARATOR, digest_of

    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        filled = [name for name in tables if cursor.execute(f'SELECT 1 FROM "{name}"').fetchone()]
        cursor.execute("SELECT sql FROM sqlite_master WHERE sql <> '' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
        statements = [sql for (sql,) in cursor.fetchall()]
    assert filled == ["django_migrations"], f"rows of migrations are not written here: {filled}"
    migrations = MigrationRecorder(connection).migration_qs.order_by("app", "name").values_list("app", "name")
    lines = [f"{MIGRATION_PREFIX}{app} {name} {digest_of((app, name))}\n" for app, name in migrations]
    return "".join([*lines, *(f"{sql}{SEPARATOR}" for sql in statements)])


if __name__ == "__main__":
    main()
