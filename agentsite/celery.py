"""The Celery application. Its messages only wake a worker: the rows define the work."""

from agentsite.optional_imports import WITH_CELERY, without  # isort: skip

with without(*WITH_CELERY):
    from celery import Celery  # isort: skip
    from celery.signals import setup_logging, worker_init, worker_ready, worker_shutdown, worker_shutting_down  # isort: skip
    from celery.worker.consumer import Consumer  # isort: skip

import logging
import os
import time
from functools import partial

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")

_WAIT_SECONDS = 1.0

app = Celery("agentsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["tasks_app.worker"], related_name="jobs")


@setup_logging.connect
def _keep_our_logging(**kwargs: object) -> None:
    """Keep Celery from installing log handlers, by listening to this signal: ours redact secrets."""


@worker_init.connect
def _wait_for_migrations(**kwargs: object) -> None:
    """Wait for the database and its migrations: a worker can start before the web that applies them."""
    from django.db import DatabaseError, connection
    from django.db.migrations.executor import MigrationExecutor

    logged_reason = ""
    while True:
        try:
            executor = MigrationExecutor(connection)
            if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
                return
            reason = "the web to migrate the database"
        except DatabaseError as error:
            reason = f"the database: {error}"
        if reason != logged_reason:
            logging.getLogger(__name__).warning("waiting for %s", reason)
            logged_reason = reason
        connection.close()
        time.sleep(_WAIT_SECONDS)


@worker_init.connect
def _disable_restore(**kwargs: object) -> None:
    """Keep Kombu from restoring unacknowledged messages, which fails without Redis and would end the worker."""
    from agentsite.environment import EMBEDDED

    if not EMBEDDED:
        from kombu.transport import redis

        redis.Channel.do_restore = False


@worker_ready.connect
def _start(sender: Consumer, **kwargs: object) -> None:
    """Start recovery and the supervisor. Outside the embedded mode, also install packages for commands."""
    from agentsite import workshop
    from agentsite.environment import EMBEDDED
    from tasks_app.worker import supervisor

    supervisor.start(partial(sender.call_soon, sender.cancel_task_queue, app.conf.task_default_queue))
    if not EMBEDDED:
        workshop.install_missing(logging.getLogger(__name__).warning)


@worker_shutting_down.connect
def _drain(**kwargs: object) -> None:
    """Finish the running steps while their leases are renewed. Other workers continue the tasks."""
    from tasks_app.runtime import process

    process.drain()


@worker_shutdown.connect
def _stop(**kwargs: object) -> None:
    from agentsite.environment import EMBEDDED
    from tasks_app.runtime import process
    from tasks_app.worker import supervisor

    supervisor.stop()
    if not EMBEDDED:  # there the process ends without cleanup
        supervisor.close_connections()
        process.end()
