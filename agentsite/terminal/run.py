"""One task that a thread advances to its end, while the main thread reports and handles signals."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

from django.db import connection

from agentsite.terminal.reports import Report
from llm_app import protocols
from tasks_app import services
from tasks_app.models import PERSON, ContextEntry, Decision, Task, WaitingFor
from tasks_app.models.errors import MayNotDecide, NothingToAnswer
from tasks_app.record import redact_entries, redact_entry, redactor_of
from tasks_app.run import children
from tasks_app.runtime import event_loop
from tasks_app.worker import jobs
from tasks_app.worker.supervisor import WorkerThreads

LAST_SECONDS = 5.0
POLL_SECONDS = 0.05
STDOUT = 1
NOBODY = "No one is there. Decide yourself."
Ask = Callable[[str], str]
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(task: Task, user: Any, report: Report, ask: Ask | None) -> Task:
    """Run the task to its end and return it. Signals and a closed pipe stop it as the stop button does."""
    supervisor = WorkerThreads(sweeps=False)
    supervisor.start()
    with _all_as_ctrl_c():
        with suppress(BrokenPipeError):  # raised again below, which stops the task
            report.started(task)
        _Drive(task, user, report, ask).to_the_end()
    supervisor.stop()
    event_loop.submit(protocols.close()).result()  # the process ends now
    return task


class _Drive:
    def __init__(self, task: Task, user: Any, report: Report, ask: Ask | None) -> None:
        self._task, self._user, self._ask = task, user, ask
        self._report: Report | None = report  # None: the output is closed
        self._workers: dict[UUID, threading.Thread] = {}  # of delegated tasks
        self._seq = 0  # of the last reported entry

    def to_the_end(self) -> None:
        while True:
            try:
                self._watch()
                if self._task.is_active:
                    answer(self._task, self._user, self._ask)
                    continue
                if self._report:
                    self._report.ended(self._task)
                return
            except (KeyboardInterrupt, EOFError):
                services.stop(self._task)
            except BrokenPipeError:
                self._report, self._ask = None, None
                _leave_output()
                services.stop(self._task)
            except NothingToAnswer:
                continue  # already answered on the page

    def _watch(self) -> None:
        """Advance the task until it waits or ends, and report each entry."""
        worker = self._worker(self._task)
        while True:
            running = worker.is_alive()
            self._task.refresh_from_db()
            if self._report:
                self._tell(self._report)
            if self._task.waiting_for == WaitingFor.CHILDREN:
                self._attend(children.below(self._task))
            elif self._task.waiting_for or not self._task.is_active:
                worker.join(LAST_SECONDS)  # it still cleans up
                return
            elif not running:  # another worker holds the task, or the time slice ended
                worker = self._worker(self._task)
            time.sleep(POLL_SECONDS)

    def _attend(self, delegated: Sequence[Task]) -> None:
        """Advance delegated tasks and answer their questions, which no other process does."""
        for task in delegated:
            if task.waiting_for in PERSON:
                with suppress(NothingToAnswer):
                    answer(task, self._user, self._ask)
            elif not task.waiting_for and not self._is_advanced(task):
                self._workers[task.pk] = self._worker(task)

    def _is_advanced(self, task: Task) -> bool:
        return task.pk in self._workers and self._workers[task.pk].is_alive()

    def _worker(self, task: Task) -> threading.Thread:
        worker = threading.Thread(target=_advance, args=(task,), daemon=True)
        worker.start()
        return worker

    def _tell(self, report: Report) -> None:
        _require_reader()
        session = self._task.session
        for entry in redact_entries(
            session, ContextEntry.objects.filter(task=self._task).in_session(session).after(self._seq)
        ):
            report.entry(entry)
            self._seq = entry.seq


def _advance(task: Task) -> None:
    try:
        jobs.advance(task.pk)
    finally:
        connection.close()


@contextmanager
def _all_as_ctrl_c() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt. Ignored signals stay ignored, as `nohup` requires."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _require_reader() -> None:
    """Check that the output is still read, before the next line is due.

    Raises: BrokenPipeError if the pipe is closed.
    """
    watch = select.poll()
    watch.register(STDOUT, 0)
    if any(event & select.POLLERR for _, event in watch.poll(0)):
        raise BrokenPipeError


def _leave_output() -> None:
    """Discard pending output, so that the exit of the process reports no error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDOUT)
    os.close(nowhere)


def answer(task: Task, user: Any, ask: Ask | None) -> None:
    """Answer the question or approval that `task` waits for.

    If nobody can be asked, questions are answered with “Decide yourself”, and approvals are rejected.
    """
    newest = ContextEntry.objects.in_session(task.session).in_context().last()
    call = newest and redact_entry(newest, redactor_of(task.session))
    arguments = call.arguments if call else {}
    if task.waiting_for == WaitingFor.REPLY:
        services.reply(task, user, ask(_question(arguments)) if ask else NOBODY)
    elif ask is None:
        services.decide(task, user, Decision.REJECTED, note=NOBODY)
    else:
        name = call.call["name"] if call and call.call else "?"
        said = ask(f"Run {name} {arguments}? [y/N] ").strip().lower()
        _decide(task, user, Decision.APPROVED if said in ("y", "yes") else Decision.REJECTED)


def _decide(task: Task, user: Any, decision: Decision) -> None:
    """Decide the call, or reject it if only another user is allowed to approve it."""
    try:
        services.decide(task, user, decision)
    except MayNotDecide as error:
        services.decide(task, user, Decision.REJECTED, note=str(error))


def _question(arguments: Any) -> str:
    options = arguments.get("options") if isinstance(arguments, dict) else None
    return f"({' / '.join(options)}) > " if options else "> "
