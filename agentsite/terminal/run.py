"""Drives one task to its end, in a thread, while the main thread reports and hears who wants it to end."""

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
from tasks_app.worker.supervisor import Supervisor

LAST_SECONDS = 5.0
POLL_SECONDS = 0.05
STDOUT = 1
NOBODY = "No one is there. Decide yourself."
Ask = Callable[[str], str]
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(task: Task, user: Any, report: Report, ask: Ask | None) -> Task:
    """The ended task. Ctrl-C, SIGTERM, SIGHUP and a pipe that nobody reads stop it as the stop button does."""
    supervisor = Supervisor(sweeps=False)
    supervisor.start()
    with _all_as_ctrl_c():
        with suppress(BrokenPipeError):  # found again when it is driven
            report.started(task)
        _Drive(task, user, report, ask).to_the_end()
    supervisor.stop()
    event_loop.submit(protocols.close()).result()  # of a process that ends now
    return task


class _Drive:
    def __init__(self, task: Task, user: Any, report: Report, ask: Ask | None) -> None:
        self._task, self._user, self._ask = task, user, ask
        self._report: Report | None = report  # None: nobody reads it any more
        self._workers: dict[UUID, threading.Thread] = {}  # of delegated tasks
        self._seq = 0  # of the last entry that was reported

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
                continue  # somebody was quicker, on the page

    def _watch(self) -> None:
        """Advances the task until it waits or ends, and reports each entry."""
        worker = self._worker(self._task)
        while True:
            running = worker.is_alive()
            self._task.refresh_from_db()
            if self._report:
                self._tell(self._report)
            if self._task.waiting_for == WaitingFor.CHILDREN:
                self._attend(children.below(self._task))
            elif self._task.waiting_for or not self._task.is_active:
                worker.join(LAST_SECONDS)  # it still gives back what it had reserved
                return
            elif not running:  # another worker holds the task, or the time slice was over
                worker = self._worker(self._task)
            time.sleep(POLL_SECONDS)

    def _attend(self, delegated: Sequence[Task]) -> None:
        """Advances those that can go on, and answers what they wait for. No other process does."""
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
    """What is ignored stays so: `nohup` wants it."""
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
    """A pipe that nobody reads would be found at the next line only. Raises BrokenPipeError."""
    watch = select.poll()
    watch.register(STDOUT, 0)
    if any(event & select.POLLERR for _, event in watch.poll(0)):
        raise BrokenPipeError


def _leave_output() -> None:
    """What is still to be written goes nowhere, so that the end of the process does not complain of it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDOUT)
    os.close(nowhere)


def answer(task: Task, user: Any, ask: Ask | None) -> None:
    """Answers what `task` waits for. Without a person: questions with “decide yourself”, approvals with no."""
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
    """Where somebody else must approve, nobody in this terminal can."""
    try:
        services.decide(task, user, decision)
    except MayNotDecide as error:
        services.decide(task, user, Decision.REJECTED, note=str(error))


def _question(arguments: Any) -> str:
    options = arguments.get("options") if isinstance(arguments, dict) else None
    return f"({' / '.join(options)}) > " if options else "> "
