"""Applies a configuration file; calling it twice changes nothing."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from agentsite.checks import infrastructure


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.yml")
        parser.add_argument("--check", action="store_true", help="Say what would change, and change nothing.")

    def handle(self, *args: Any, file: Path, check: bool, **options: Any) -> None:
        from agentsite import configuration

        missing = infrastructure.migrations_are_applied()
        if missing.is_serious():
            raise CommandError(f"{missing.msg} {missing.hint}")
        try:
            loaded = configuration.load(file)
        except configuration.ConfigurationError as error:
            raise CommandError(str(error)) from error
        with transaction.atomic():
            changes = configuration.apply(loaded)
            remarks = list(configuration.notes(loaded.configuration))
            transaction.set_rollback(check)
        title = f"{file} {'would change' if check else 'changed'}"
        self.stdout.write(f"{title}:" if changes else f"{title} nothing.")
        for change in changes:
            self.stdout.write(f"  {change}")
        for remark in remarks:
            self.stdout.write(f"note: {remark}")
