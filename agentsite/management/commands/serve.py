"""Runs web and worker in one process; with REDIS_URL, the web alone."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentsite.environment import env


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=env.str("HOST", default="127.0.0.1"))
        parser.add_argument("--port", type=int, default=env.integer("PORT", 8000))

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        from agentsite.serving.web import CannotServe, serve

        try:
            serve(host, port, say=self._say)
        except CannotServe as error:
            raise CommandError(str(error)) from error

    def _say(self, text: str) -> None:
        """Print the text immediately, also into a file or a pipe."""
        self.stdout.write(text)
        self.stdout.flush()
