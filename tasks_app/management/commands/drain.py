"""Lets this host's workers finish their step and take nothing new, before they are stopped or replaced.

Waits until they are idle. A drained worker runs nothing more until it is restarted.
"""

import socket
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tasks_app.models import EngineProcess, Task
from tasks_app.runtime import process

_POLL_SECONDS = 0.5


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--timeout", type=float, default=600, help="Seconds. Default: 600.")

    def handle(self, *args: Any, timeout: float, **options: Any) -> None:
        alive = EngineProcess.objects.alive().filter(name__startswith=f"{socket.gethostname()}:")
        workers = [name for name in alive.values_list("name", flat=True) if not process.is_dead(name)]
        if not workers:
            raise CommandError("No worker of this host runs.")
        for name in workers:
            process.ask_to_drain(name)
        self._wait(workers, timeout)
        self.stdout.write(f"Idle, and taking nothing new: {len(workers)}. Stop them, or start them anew.")

    def _wait(self, workers: list[str], timeout: float) -> None:
        """Wait until the workers hold no task. A worker may take one more task within a second before it sees the
        order.
        """
        deadline, reported, quiet = time.monotonic() + timeout, -1, 0
        while quiet < 4:
            time.sleep(_POLL_SECONDS)
            busy = Task.objects.active().filter(lease_owner__in=workers).count()
            quiet = 0 if busy else quiet + 1
            if busy and busy != reported:
                self.stdout.write(f"{busy} tasks finish their step …")
                self.stdout.flush()
                reported = busy
            if busy and time.monotonic() > deadline:
                raise CommandError(
                    f"{busy} tasks are still in a step after {timeout:.0f} s. The workers go on draining."
                )
