"""Applies a configuration file; calling it twice changes nothing."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentsite.checks import infrastructure


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.yml")
        parser.add_argument("--check", action="store_true", help="Say what would change, and change nothing.")

    def handle(self, *args: Any, file: Path, check: bool, **options: Any) -> None:
        from agentsite.configuration.apply import apply, preview
        from agentsite.configuration.load import load
        from agentsite.configuration.mistakes import ConfigurationError
        from agentsite.configuration.notes import notes

        _require_tables()
        try:
            loaded = load(file)
        except ConfigurationError as error:
            raise CommandError(str(error)) from error
        remarks = list(notes(loaded.configuration))
        self._report(f"{file} {'would change' if check else 'changed'}", preview(loaded) if check else apply(loaded))
        for remark in remarks:
            self.stdout.write(f"note: {remark}")

    def _report(self, title: str, changes: list[str]) -> None:
        self.stdout.write(f"{title}:" if changes else f"{title} nothing.")
        for change in changes:
            self.stdout.write(f"  {change}")


def _require_tables() -> None:
    if not (finding := infrastructure.migrations()).ok:
        raise CommandError(f"{finding.sentence} {finding.mend}")
