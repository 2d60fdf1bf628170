"""Django's, which gives a new SQLite database its tables all at once."""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from agentsite.sqlite import prepared_schema


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        asked_for_less = ("app_label", "plan", "check_unapplied", "fake", "prune", "run_syncdb")
        if not any(options[name] for name in asked_for_less):
            prepared_schema.begin_with_it(connections[options["database"]])
        super().handle(*args, **options)
