"""The workers, which advance tasks."""

from agentsite.checks.messages import Finding, broken, fine, note
from agentsite.environment import EMBEDDED
from agentsite.serving import server_lock
from tasks_app.models import EngineProcess
from tasks_app.models.operations import ALIVE_SECONDS
from tasks_app.runtime import process

_NAME = "worker"


def heartbeat() -> Finding:
    """Whether some process has shown life recently, and is not known to be dead. The database must be reachable."""
    names = EngineProcess.objects.alive().values_list("name", flat=True)
    alive = sum(not process.is_dead(name) for name in names)
    if alive:
        return fine(_NAME, f"{alive} {'process advances' if alive == 1 else 'processes advance'} tasks.")
    if EMBEDDED and not server_lock.holder():
        return note(_NAME, "The server is not running.", "Start it with: make run")
    return broken(
        _NAME,
        f"No worker has shown life for {ALIVE_SECONDS} s, so tasks wait.",
        "Restart the server." if EMBEDDED else "Start a worker: celery -A agentsite worker -P threads",
    )


def unknown() -> Finding:
    """While the database cannot be reached."""
    return broken(_NAME, "Workers cannot be seen without the database.", "Mend the database first.")
