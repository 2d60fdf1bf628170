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
from tasks_app.models import PERSON_WAITS, ContextEntry, Decision, Task, WaitingFor
from tasks_app.models.errors import MayNotDecide, NothingToAnswer
from tasks_app.record import redact_entries, redact_entry, redactor_of
from tasks_app.run import children
from tasks_app.runtime import event_loop
from tasks_app.worker import jobs
from tasks_app.worker.supervisor import WorkerThreads

JOIN_SECONDS = 5.0
POLL_SECONDS = 0.05
STDOUT = 1
DECIDE_YOURSELF = "No one is there. Decide yourself."
Ask = Callable[[str], str]
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(task: Task, user: Any, report: Report, ask: Ask | None) -> Task:
    """Run the task to its end and return it. Signals and a closed pipe stop it as the stop button does."""
    supervisor = WorkerThreads(sweeps=False)
    supervisor.start()
    with _signals_as_keyboard_interrupt():
        with suppress(BrokenPipeError):  # raised again below, which stops the task
            report.started(task)
        _Driver(task, user, report, ask).run_to_end()
    supervisor.stop()
    event_loop.submit(protocols.close()).result()  # the process ends now
    return task


class _Driver:
    def __init__(self, task: Task, user: Any, report: Report, ask: Ask | None) -> None:
        self._task, self._user, self._ask = task, user, ask
        self._report: Report | None = report  # None: the output is closed
        self._workers: dict[UUID, threading.Thread] = {}  # of delegated tasks
        self._seq = 0  # of the last reported entry

    def run_to_end(self) -> None:
        while True:
            try:
                self._advance_and_report()
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
                _discard_output()
                services.stop(self._task)
            except NothingToAnswer:
                continue  # already answered on the page

    def _advance_and_report(self) -> None:
        """Advance the task until it waits or ends, and report each entry."""
        worker = self._start_worker(self._task)
        while True:
            is_running = worker.is_alive()
            self._task.refresh_from_db()
            if self._report:
                self._report_new_entries(self._report)
            if self._task.waiting_for == WaitingFor.CHILDREN:
                self._advance_children(children.active_descendants(self._task))
            elif self._task.waiting_for or not self._task.is_active:
                worker.join(JOIN_SECONDS)  # it still cleans up
                return
            elif not is_running:  # another worker holds the task, or the time slice ended
                worker = self._start_worker(self._task)
            time.sleep(POLL_SECONDS)

    def _advance_children(self, delegated: Sequence[Task]) -> None:
        """Advance delegated tasks and answer their questions, which no other process does."""
        for task in delegated:
            if task.waiting_for in PERSON_WAITS:
                with suppress(NothingToAnswer):
                    answer(task, self._user, self._ask)
                continue
            worker = self._workers.get(task.pk)
            if not task.waiting_for and (worker is None or not worker.is_alive()):
                self._workers[task.pk] = self._start_worker(task)

    def _start_worker(self, task: Task) -> threading.Thread:
        worker = threading.Thread(target=_advance, args=(task,), daemon=True)
        worker.start()
        return worker

    def _report_new_entries(self, report: Report) -> None:
        _check_output()
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
def _signals_as_keyboard_interrupt() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt. Ignored signals stay ignored, as `nohup` requires."""
    before = {number: signal.getsignal(number) for number in _END_SIGNALS}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


def _check_output() -> None:
    """Check that the output is still read, before the next line is due.

    Raises: BrokenPipeError if the pipe is closed.
    """
    watch = select.poll()
    watch.register(STDOUT, 0)
    if any(event & select.POLLERR for _, event in watch.poll(0)):
        raise BrokenPipeError


def _discard_output() -> None:
    """Discard pending output, so that the exit of the process reports no error."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, STDOUT)
    os.close(devnull)


def answer(task: Task, user: Any, ask: Ask | None) -> None:
    """Answer the question or approval that `task` waits for.

    If nobody can be asked, questions are answered with “Decide yourself”, and approvals are rejected.
    """
    newest = ContextEntry.objects.in_session(task.session).in_context().last()
    call = newest and redact_entry(newest, redactor_of(task.session))
    arguments = call.arguments if call else {}
    if task.waiting_for == WaitingFor.REPLY:
        options = arguments.get("options") if isinstance(arguments, dict) else None
        prompt = f"({' / '.join(options)}) > " if options else "> "
        services.reply(task, user, ask(prompt) if ask else DECIDE_YOURSELF)
    elif ask is None:
        services.decide(task, user, Decision.REJECTED, note=DECIDE_YOURSELF)
    else:
        name = call.call["name"] if call and call.call else "?"
        reply = ask(f"Run {name} {arguments}? [y/N] ").strip().lower()
        try:
            services.decide(task, user, Decision.APPROVED if reply in ("y", "yes") else Decision.REJECTED)
        except MayNotDecide as error:  # only another user is allowed to approve this call
            services.decide(task, user, Decision.REJECTED, note=str(error))
