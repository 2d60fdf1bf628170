"""A thread of each engine process: renews leases, sends heartbeats, polls for stops and messages, and sweeps."""

import logging
import threading
import time
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Exists, OuterRef, Q

from llm_app import protocols
from tasks_app.events import event_loop
from tasks_app.models import EngineProcess, InboxMessage, Mode, Task
from tasks_app.run import affinity
from tasks_app.runtime import cancellation, lease, process
from tasks_app.worker import jobs, mcp_refresh, reaper
from tools_app.held_resources import anything
from tools_app.sandbox import ports

logger = logging.getLogger(__name__)
POLL_SECONDS = 0.5  # the slow poll behind the signals: a lost one costs no more
SWEEP_SECONDS = 5.0
BEAT_SECONDS = 5.0
CLOSE_SECONDS = 5.0
PREPARE_SECONDS = 2.0  # after the start: the server is ready first


class Supervisor(threading.Thread):
    """Starts with `start()`, ends with `stop()`. A database that is away for a while is waited for.

    It sweeps, and shows life, only where wake-ups reach a worker: not in `run_agent`.
    """

    def __init__(self, *, sweeps: bool = True) -> None:
        super().__init__(name="supervisor", daemon=True)
        self._sweeps = sweeps
        self._stopped = False
        self._due: dict[str, float] = {}

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        while not self._stopped:
            is_called = affinity.called.wait(POLL_SECONDS)
            affinity.called.clear()
            try:
                self._round(is_called=is_called)
            except DatabaseError as error:
                logger.warning("the database is not reachable: %s", error)
                connection.close()

    def _round(self, *, is_called: bool) -> None:
        """`is_called`: another worker left a task to us; what we held for it may be gone by now."""
        running = cancellation.running_tasks()
        if running:
            self._look_for_people(running)
        if running and self._is_due("renew", settings.LEASE_SECONDS / 6):
            lease.renew(running)
        if self._sweeps and (is_called or anything()):
            self._take_what_waits_for_us()
        if self._sweeps and self._is_due("beat", BEAT_SECONDS):
            EngineProcess.objects.beat(process.name())
        if self._sweeps and self._is_due("sweep", SWEEP_SECONDS):
            reaper.sweep()
            affinity.release_deleted()
            affinity.release_taken()
            reaper.close_expired()
            mcp_refresh.look_at_due()
        connection.close_if_unusable_or_obsolete()

    def _look_for_people(self, running: list[UUID]) -> None:
        """Signals tasks that have a stop or a message, in case the first signal was lost."""
        messages = InboxMessage.objects.filter(session=OuterRef("session"), mode=Mode.INTERJECT, delivered_seq=None)
        wanted = Task.objects.filter(Q(stop_requested_at__isnull=False) | Exists(messages), pk__in=running)
        for task_id in wanted.values_list("pk", flat=True):
            cancellation.signal(task_id)

    def _take_what_waits_for_us(self) -> None:
        """Tasks of sessions that we hold something for: other workers leave them to us."""
        ours = Task.objects.runnable().open_to(process.name()).unclaimed().filter(session__held_by=process.name())
        for task_id in ours.values_list("pk", flat=True):
            threading.Thread(target=_advance, args=(task_id,), daemon=True).start()

    def _is_due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._due.get(what, 0):
            return False
        self._due[what] = now + every
        return True


def _advance(task_id: UUID) -> None:
    try:
        jobs.advance(task_id)
    finally:
        connection.close()


_supervisor: Supervisor | None = None


def begin() -> None:
    """Recovers what a dead process left, then keeps watch. Once it is ready, loads what providers will need."""
    global _supervisor
    reaper.start()
    event_loop.submit(ports.listen()).result()
    _supervisor = Supervisor()
    _supervisor.start()
    preparing = threading.Timer(PREPARE_SECONDS, _prepare)
    preparing.daemon = True
    preparing.start()


def _prepare() -> None:
    try:
        protocols.prepare()
    except Exception:
        logger.exception("a protocol could not be prepared; it is loaded with its first call")
    finally:
        connection.close()


def end() -> None:
    if _supervisor is not None:
        _supervisor.stop()


def close_connections() -> None:
    """At the end of a worker, when nothing of it runs any more."""
    event_loop.submit(protocols.close()).result(CLOSE_SECONDS)
