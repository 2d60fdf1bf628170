"""Writes everything that must not be lost into a new folder. The server can keep running."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = __doc__
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="A folder that does not exist yet, or is empty.")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        from agentsite.backup import BackupError

        before = os.umask(0o077)
        try:
            self._back_up(folder)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
        finally:
            os.umask(before)

    def _back_up(self, folder: Path) -> None:
        from agentsite.backup import BackupError, files, rows
        from agentsite.backup.manifest import Manifest, connection_executor

        executor = connection_executor()
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise BackupError("The database has not been migrated to this version. Run: manage.py migrate")
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BackupError(f"{folder} is not empty. Name a folder that does not exist yet.")
        manifest = Manifest()
        with rows.snapshot():
            for table, count in rows.write(folder / "rows"):
                if count:
                    self._say(f"{table}: {count:,} rows")
        for name, archive in files.write(folder):
            self._say(f"{name}: {archive.files:,} files, {archive.bytes / 1000**2:,.1f} MB")
            for path in archive.left_out:
                self._say(
                    self.style.WARNING(f"  left out, neither file, folder nor link, too deep, or unreadable: {path}")
                )
        if missing := files.exclusion_sentence():
            self._say(self.style.WARNING(missing))
        manifest.save(folder)
        self._say(self.style.SUCCESS(f"{folder} is whole. It holds no key: keep FIELD_ENCRYPTION_KEY elsewhere."))
        self._say("Without that key nobody can read its secrets or verify its record, you included.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
