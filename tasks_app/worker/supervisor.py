"""The background threads of each engine process.

The supervisor renews leases, sends heartbeats and polls for stops and messages. The sweeper recovers tasks of dead
processes. Other threads maintain the search index and the libraries, deliver traces and send mails. Long work never
delays the supervisor.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import Error, connection
from django.db.models import Exists, OuterRef, Q

from llm_app import protocols
from tasks_app.memory.library import VectorIndex
from tasks_app.models import InboxMessage, Mode, Task
from tasks_app.run import affinity
from tasks_app.runtime import cancellation, event_loop, lease, metrics, process
from tasks_app.runtime.wakeup import enqueue
from tasks_app.tracing.delivery import deliver_due
from tasks_app.worker import jobs, mails, mcp_refresh, reaper
from tasks_app.worker.library_index import read_due
from tasks_app.worker.search_index import SearchIndex
from tasks_app.worker.silences import Silences
from tools_app.held_resources import has_resources
from tools_app.sandbox import ports

logger = logging.getLogger(__name__)
POLL_SECONDS = 0.5  # the delay that a lost signal costs
SWEEP_SECONDS = 2.0
TRACE_SECONDS = 1.0
MAIL_SECONDS = 5.0
BEAT_SECONDS = 5.0
CLOSE_SECONDS = 5.0
END_SECONDS = 20.0  # timeout for the current round when the process ends
PREPARE_SECONDS = 2.0  # delay after the start: the server is ready first


class RepeatingThread(threading.Thread):
    """A thread that calls `work` whenever `wakeup` is set and every `seconds`, until `stop()`. Errors do not end it."""

    def __init__(self, name: str, work: Callable[[bool], None], seconds: float, wakeup: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._work, self._seconds, self._wakeup = work, seconds, wakeup
        self._stopped = False

    def stop(self) -> None:
        """Wait for the current round, for at most `END_SECONDS`."""
        self._stopped = True
        self._wakeup.set()
        self.join(END_SECONDS)

    def run(self) -> None:
        while not self._stopped:
            is_woken = self._wakeup.wait(self._seconds)
            self._wakeup.clear()
            try:
                self._work(is_woken)
                connection.close_if_unusable_or_obsolete()
            except Error as error:
                logger.warning("%s: could not reach the database (retrying): %s", self.name, error)
                connection.close()
            except Exception:
                logger.exception("%s: a round failed (retrying)", self.name)
                connection.close()


class WorkerThreads:
    """The threads, from `start()` to `stop()`. They survive a database that is away for a while.

    `sweeps` is false in `run_agent`, where wake-ups reach no worker: it neither sweeps nor sends heartbeats.
    """

    def __init__(self, *, sweeps: bool = True, leave_queue: Callable[[], object] | None = None) -> None:
        self._sweeps, self._leave_queue = sweeps, leave_queue
        self._due: dict[str, float] = {}
        self._silences = Silences()
        self._threads = [RepeatingThread("supervisor", self._round, POLL_SECONDS, affinity.task_waiting)]
        if sweeps:
            index, vectors, has_more = SearchIndex(), VectorIndex(), threading.Event()
            self._threads += [
                RepeatingThread("sweeper", lambda _: sweep(), SWEEP_SECONDS, threading.Event()),
                RepeatingThread("search index", lambda _: index.run_round(), SWEEP_SECONDS, threading.Event()),
                RepeatingThread("library", lambda _: index_libraries(vectors, has_more), SWEEP_SECONDS, has_more),
                RepeatingThread("tracer", lambda _: deliver_due(), TRACE_SECONDS, threading.Event()),
            ]
        if sweeps and settings.EMAIL_HOST:
            self._threads += [RepeatingThread("mails", lambda _: mails.send_due(), MAIL_SECONDS, threading.Event())]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        for thread in self._threads:
            thread.stop()

    def _round(self, is_called: bool) -> None:
        """Do the supervisor's periodic work.

        `is_called`: another worker has left a task to this process, which holds its session's resources or held them
        before.
        """
        running = cancellation.running_tasks()
        if self._sweeps and not process.is_draining() and process.is_asked_to_drain():
            self._drain()
        if running:
            self._call_if_due(settings.LEASE_SECONDS / 3, "renew", partial(lease.renew, running))
            self._signal_interrupted_tasks(running)
        self._silences.update()
        if self._sweeps and (is_called or has_resources()):
            self._advance_held_tasks(also_queued=is_called)
        is_drained = process.is_draining() and not running
        if self._sweeps and not is_drained:
            self._call_if_due(BEAT_SECONDS, "beat", metrics.store_heartbeat)

    def _signal_interrupted_tasks(self, running: list[UUID]) -> None:
        """Signal tasks with a stop or a message, in case the first signal was lost, and tasks whose lease was lost."""
        messages = InboxMessage.objects.filter(session=OuterRef("session"), mode=Mode.INTERJECT, delivered_seq=None)
        is_lost = ~Q(lease_owner__in=("", process.name()))
        interrupted = Task.objects.filter(
            Q(stop_requested_at__isnull=False) | Exists(messages) | is_lost, pk__in=running
        )
        for task_id in interrupted.values_list("pk", flat=True):
            cancellation.signal(task_id)

    def _advance_held_tasks(self, *, also_queued: bool) -> None:
        """Run tasks of sessions whose resources this process holds. Other workers leave such tasks to it."""
        runnable = Task.objects.runnable() if also_queued else Task.objects.runnable().unqueued()
        ours = runnable.open_to(process.name()).unclaimed().filter(session__held_by=process.name())
        for task_id in ours.values_list("pk", flat=True):
            if process.is_draining():
                affinity.hand_over(task_id)
                enqueue(task_id)
            else:
                threading.Thread(target=_advance, args=(task_id,), daemon=True).start()

    def _drain(self) -> None:
        """Drain on request of `manage.py drain`. The queue is left first, so that re-enqueued tasks go elsewhere."""
        logger.warning("draining: finishing the steps that run, taking no new tasks until a restart")
        if self._leave_queue is not None:
            self._leave_queue()
        process.drain()

    def _call_if_due(self, seconds: float, name: str, work: Callable[[], object]) -> None:
        """Call `work` if it is due. A call that raises is due again in the next round."""
        if time.monotonic() >= self._due.get(name, 0):
            work()
            self._due[name] = time.monotonic() + seconds


def sweep() -> None:
    """Recover abandoned tasks, release resources, close expired approvals and refresh the MCP tool lists."""
    reaper.sweep()
    affinity.release_deleted()
    affinity.release_taken()
    reaper.close_expired()
    mcp_refresh.refresh_due()


def index_libraries(vectors: VectorIndex, has_more: threading.Event) -> None:
    """Read new files before embedding the next passages, which may take hours."""
    read_due()
    if vectors.work():
        has_more.set()


def _advance(task_id: UUID) -> None:
    try:
        jobs.advance(task_id)
    finally:
        connection.close()


_supervisor: WorkerThreads | None = None


def start(leave_queue: Callable[[], object]) -> None:
    """Recover the tasks of dead processes and start the supervisor. A moment later, prepare the providers' protocols.

    `leave_queue` makes this process take no more messages.
    """
    global _supervisor
    _recover_when_reachable()
    event_loop.submit(ports.listen()).result()
    _supervisor = WorkerThreads(leave_queue=leave_queue)
    _supervisor.start()
    preparing = threading.Timer(PREPARE_SECONDS, _prepare_protocols)
    preparing.daemon = True
    preparing.start()


def _recover_when_reachable() -> None:
    """Run recovery, waiting for a database that is away: without recovery and supervisor a worker is of no use."""
    while True:
        try:
            return reaper.start()
        except Error as error:
            logger.warning("could not reach the database (retrying): %s", error)
            connection.close()
            time.sleep(POLL_SECONDS)


def _prepare_protocols() -> None:
    try:
        protocols.prepare()
    except Exception:
        logger.exception("could not prepare the protocols; they load with their first call")
    finally:
        connection.close()


def stop() -> None:
    """Stop the threads."""
    if _supervisor is not None:
        _supervisor.stop()


def close_connections() -> None:
    """Close the connections to providers when the worker ends, after its last task."""
    event_loop.submit(protocols.close()).result(CLOSE_SECONDS)
