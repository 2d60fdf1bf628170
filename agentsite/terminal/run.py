"""Drives one task to its end, in a thread, while the main thread reports and stays open for Ctrl-C."""

import threading
import time
from typing import Any

from django.db import connection

from agentsite.terminal.answers import Ask, answer
from agentsite.terminal.reports import Report
from llm_app import wire
from tasks_app import event_loop, jobs, services
from tasks_app.keeper import Keeper
from tasks_app.models import ContextEntry, Task
from tasks_app.shown import shown

POLL_SECONDS = 0.05


def run(task: Task, user: Any, report: Report, ask: Ask | None) -> Task:
    """The ended task. Ctrl-C stops it as the stop button does."""
    keeper = Keeper(sweeps=False)
    keeper.start()
    report.started(task)
    seq = 0
    while True:
        try:
            seq = _watch(task, report, seq)
            if not task.is_active:
                break
            answer(task, user, ask)
        except KeyboardInterrupt:
            services.stop(task)
    keeper.stop()
    event_loop.submit(wire.close()).result()  # of a process that ends now
    report.ended(task)
    return task


def _watch(task: Task, report: Report, seq: int) -> int:
    """Advances the task until it waits or ends, and reports each entry; returns the last one's seq."""
    worker = threading.Thread(target=_advance, args=(task,), daemon=True)
    worker.start()
    while True:
        running = worker.is_alive()
        task.refresh_from_db()
        for entry in shown(task.session, ContextEntry.objects.filter(task=task).of(task.session).after(seq)):
            report.entry(entry)
            seq = entry.seq
        if task.waiting_for or not task.is_active:
            return seq
        if not running:  # another worker holds the task, or the time slice was over
            worker = threading.Thread(target=_advance, args=(task,), daemon=True)
            worker.start()
        time.sleep(POLL_SECONDS)


def _advance(task: Task) -> None:
    try:
        jobs.advance(task.pk)
    finally:
        connection.close()
