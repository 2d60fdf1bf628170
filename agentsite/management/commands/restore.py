"""Puts a backup into this installation, whichever database it has. No server or worker of it may run."""

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from agentsite import postgresql

if TYPE_CHECKING:
    from django.apps.registry import Apps

    from agentsite.backup.manifest import Manifest


class Command(BaseCommand):
    help = __doc__
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="What `backup` has written.")
        parser.add_argument("--replace", action="store_true", help="Deletes what this installation has.")

    def handle(self, *args: Any, folder: Path, replace: bool, **options: Any) -> None:
        from agentsite.backup import BackupError

        before = os.umask(0o077)
        try:
            self._restore(folder, replace=replace)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename or folder}: {error.strerror}.") from error
        finally:
            os.umask(before)

    def _restore(self, folder: Path, *, replace: bool) -> None:
        from agentsite.backup import files, rows
        from agentsite.backup.manifest import Manifest

        manifest = Manifest.load(folder)
        apps = self._tables_of(manifest)
        _check_idle(apps)
        if not replace:
            _check_empty(apps)
        unpacked = []
        for name, fresh in files.unpack(folder):
            self._say(f"{name}: unpacked")
            unpacked.append(fresh)
        with rows.replace_all(apps):
            for table, count in rows.read(folder / "rows", apps):
                if count:
                    self._say(f"{table}: {count:,} rows")
        for fresh in unpacked:
            files.replace_folder(fresh)
        call_command("migrate", verbosity=0, interactive=False)
        self._say(self.style.SUCCESS(f"The backup of {manifest.made_at} is restored."))
        if missing := files.exclusion_sentence():
            self._say(self.style.WARNING(missing))
        self._say("Start the server, or first prove the record with: manage.py replay --all --verify")

    def _tables_of(self, manifest: "Manifest") -> "Apps":
        """Return the models at the time of the backup, after creating the tables if there are none.

        Raises: BackupError if the tables are of another version.
        """
        from agentsite.backup import BackupError
        from agentsite.backup.manifest import connection_executor

        executor = connection_executor()
        targets = [(app, name) for app, name in manifest.migrations]
        if unknown := [f"{app}.{name}" for app, name in targets if (app, name) not in executor.loader.graph.nodes]:
            raise BackupError(
                f"The backup is of version {manifest.version}, which has migrations that this one lacks "
                f"({', '.join(unknown)}). Install that version, or a later one."
            )
        if not executor.loader.applied_migrations:
            self._say("The database is empty: its tables are made.")
            executor.migrate(targets)
            return executor.loader.project_state(targets).apps
        applied = executor.loader.applied_migrations.keys() & executor.loader.graph.nodes.keys()
        required = {node for target in targets for node in executor.loader.graph.forwards_plan(target)}
        if applied != required:
            raise BackupError(
                f"The backup is of version {manifest.version}, and the tables here are of another one. Restore it into "
                "an empty database: it is migrated afterwards."
            )
        return executor.loader.project_state(targets).apps

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _check_idle(apps: "Apps") -> None:
    from agentsite.backup import BackupError
    from agentsite.serving import server_lock
    from tasks_app.models import ALIVE_SECONDS

    if address := server_lock.holder():
        raise BackupError(f"A server runs with this data: {address}. Stop it first.")
    processes = apps.get_model("tasks_app", "EngineProcess")._base_manager
    alive = processes.filter(seen_at__gt=timezone.now() - timedelta(seconds=ALIVE_SECONDS)).values_list("name").first()
    if alive:
        raise BackupError(f"A worker runs, or ran seconds ago: {alive[0]}. Stop all workers and try again in 20 s.")
    if other := _connected():
        raise BackupError(f"Another process of agentsite uses this database: {other}. Stop all webs and workers.")


def _connected() -> str:
    """Return a process that is connected to the database, as each web of a team is, or ''."""
    if connection.vendor != "postgresql":
        return ""
    ours = "datname = current_database() AND application_name LIKE 'agentsite@%%' AND application_name <> %s"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT application_name FROM pg_stat_activity WHERE {ours} LIMIT 1", [postgresql.NAME])  # noqa: S608
        row = cursor.fetchone()
    return str(row[0]) if row else ""


def _check_empty(apps: "Apps") -> None:
    from agentsite.backup import BackupError, files

    has_users = apps.get_model("accounts", "User")._base_manager.exists()
    contents = [str(folder) for folder in files.non_empty_folders()] + (["users in the database"] if has_users else [])
    if contents:
        raise BackupError(f"This installation is not empty: {', '.join(contents)}. --replace deletes what it has.")
