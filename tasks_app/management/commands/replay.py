"""Rebuilds LLM requests from the record: one a line, as the exact bytes that were sent. --verify proves that they are.

The exit status is 1 if a request or a chain is not what it was, or a re-run goes another way.
"""

import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from llm_app.models import LLMLog
from tasks_app.models import Task
from tasks_app.replay import verification
from tasks_app.replay.requests import NotRebuilt, SessionRequests
from tasks_app.replay.rerun import rerun
from tasks_app.replay.verification import Findings


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument("task", nargs="?", type=_uuid, metavar="TASK")
        target.add_argument("--all", action="store_true", help="All tasks, and the calls that belong to none.")
        action = parser.add_mutually_exclusive_group()
        action.add_argument(
            "--verify", action="store_true", help="Compares each request with the hash of what was sent."
        )
        action.add_argument("--rerun", action="store_true", help="Runs against the recorded answers, without a model.")

    def handle(self, *args: Any, **options: Any) -> None:
        tasks = Task.objects.select_related("session", "started_by").order_by("created_at")
        if options["task"] and not (tasks := tasks.filter(pk=options["task"])).exists():
            raise CommandError(f"There is no task {options['task']}.")
        if options["verify"]:
            if options["all"]:
                findings: Iterable[Findings] = verification.of_everything()
            else:
                task = tasks.get()
                findings = [verification.of_session(task.session, LLMLog.objects.filter(task_id=task.pk))]
            ok = self._verify(findings)
        else:
            function = self._rerun if options["rerun"] else self._print
            ok = not sum(function(task) for task in tasks.iterator(chunk_size=100))
        if not ok:
            sys.exit(1)

    def _verify(self, parts: Iterable[Findings]) -> bool:
        total = Findings()
        for findings in parts:
            for fault in (*findings.broken_chains, *findings.mismatches):
                self.stdout.write(self.style.ERROR(fault))
            total += findings
        self.stdout.write(str(total), self.style.SUCCESS if total.is_whole else self.style.ERROR)
        return total.is_whole

    def _print(self, task: Task) -> int:
        """Write requests to standard output and titles to standard error. Return the number that cannot be rebuilt."""
        requests, faults = SessionRequests.for_session(task.session), 0
        logs = LLMLog.objects.filter(task_id=task.pk).order_by("created_at")
        for number, log in enumerate(logs, 1):
            title = f"call {number} of {len(logs)}, {log.pk}: {log}, step {log.iteration}, {log.request_bytes:,} bytes"
            self.stderr.write(title, self.style.MIGRATE_HEADING)
            try:
                self.stdout.write(requests.body(log).decode())
            except NotRebuilt as error:
                faults += 1
                self.stderr.write(f"It cannot be rebuilt: {error}.")
        return faults

    def _rerun(self, task: Task) -> bool:
        """Run the task again. Return whether it diverges."""
        outcome = rerun(task)
        style = self.style.ERROR if outcome.divergence else self.style.SUCCESS
        self.stdout.write(f"task {task.pk}: {outcome}", style)
        return bool(outcome.divergence)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no id of a task") from None
