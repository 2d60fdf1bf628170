"""The Celery application. Its messages only wake a worker: the rows say what there is to do."""

import logging
import os

from celery import Celery
from celery.signals import setup_logging, worker_ready, worker_shutdown, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")

app = Celery("agentsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["tasks_app.worker"], related_name="jobs")


@setup_logging.connect
def _leave_logging(**kwargs: object) -> None:
    """Celery sets up no handlers of its own where somebody listens to this: ours redact what is secret."""


@worker_ready.connect
def _begin(**kwargs: object) -> None:
    """What every process that runs tasks needs: recovery at its start, and the supervisor beside its tasks."""
    from agentsite import workshop
    from agentsite.environment import EMBEDDED
    from tasks_app.worker import supervisor

    supervisor.begin()
    if not EMBEDDED:
        workshop.begin(logging.getLogger(__name__).warning)


@worker_shutting_down.connect
def _end(**kwargs: object) -> None:
    from tasks_app.worker import supervisor

    supervisor.end()


@worker_shutdown.connect
def _close(**kwargs: object) -> None:
    from agentsite.environment import EMBEDDED
    from tasks_app.worker import supervisor

    if not EMBEDDED:  # there the process is cut off
        supervisor.close_connections()
