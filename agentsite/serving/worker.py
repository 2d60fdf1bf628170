"""A real Celery worker inside the server's process: the embedded mode runs the same code as a team's workers."""

import logging
import threading

import celery.worker.state
from celery import Celery
from celery.app.trace import setup_worker_optimizations
from celery.signals import worker_ready
from celery.worker import WorkController

logger = logging.getLogger(__name__)


class EmbeddedWorker(threading.Thread):
    """Runs tasks in threads and installs no signal handlers: those belong to the web server in the main thread."""

    def __init__(self, app: Celery, concurrency: int) -> None:
        super().__init__(name="celery-worker", daemon=True)
        self._app, self._concurrency = app, concurrency
        self.ready = threading.Event()

    def run(self) -> None:
        setup_worker_optimizations(self._app, "embedded")
        worker = WorkController(
            app=self._app,
            hostname="embedded",
            pool_cls="threads",
            concurrency=self._concurrency,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            ready_callback=self._announce,
        )
        worker.start()

    def stop(self) -> None:
        """Takes no new tasks. What runs is cut off with the process and goes on at the next start."""
        celery.worker.state.should_stop = 0

    def _announce(self, consumer: object) -> None:
        worker_ready.send(sender=consumer)
        self.ready.set()
