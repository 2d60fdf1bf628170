"""Runs the server for development (`make dev`): it restarts when a file changes, and there is some data to look at."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentsite.environment import BASE_DIR, env

WATCHED = ("agentsite", "llm_app", "tasks_app", "tools_app", "templates")
SUFFIXES = {".py", ".html", ".xml"}
POLL_SECONDS = 0.5
PASSWORD = "development"  # noqa: S105  this server answers on loopback only


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=env.integer("PORT", 8000))

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("This server is for development and shows its internals. Start it with: make dev")
        add_demo_data()
        self.stdout.write(f"The users ada and bob have the password {PASSWORD!r}. A changed file restarts the server.")
        command = [sys.executable, "manage.py", "serve", "--host", "127.0.0.1", "--port", str(port)]
        while serve_until_a_file_changes(command):
            self.stdout.write("A file has changed; the server restarts.")


def add_demo_data() -> None:
    """Create two more users, and a session for each user, in which the scripted demo begins with the server."""
    from agentsite.accounts.models import User
    from agentsite.serving import first_start
    from tasks_app import services

    first_start.migrate()
    admin = first_start.ensure_admin().user
    first_start.ensure_model()
    if User.objects.exclude(pk=admin.pk).exists():
        return
    for user in (admin, *(User.objects.create_user(name, password=PASSWORD) for name in ("ada", "bob"))):
        services.post_message(services.create_session(user), user, "Show me what you can do")


def serve_until_a_file_changes(command: list[str]) -> bool:
    """Return True to restart, False after Ctrl-C. A server that cannot start is restarted at the next change."""
    before = _modification_times()
    with subprocess.Popen(command, cwd=BASE_DIR) as server:
        try:
            while _modification_times() == before:
                time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            return False
        finally:
            server.send_signal(signal.SIGINT)
    return True


def _modification_times() -> dict[Path, float]:
    files = (path for folder in WATCHED for path in (BASE_DIR / folder).rglob("*") if path.suffix in SUFFIXES)
    return {path: path.stat().st_mtime for path in files if path.exists()}
