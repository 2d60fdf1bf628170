"""The unit of work: a running task's writes, in one transaction, guarded by its lease."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from llm_app.budgets import Allowance
from llm_app.redaction import redacted_arguments
from llm_app.sql import Statement, UpdateRow, executed, save
from tasks_app.models import ENDED, ContextEntry, InboxMessage, Session, Task, TaskState, ToolCallLog
from tasks_app.record import Draft, SessionSecrets, append_entries, lock
from tasks_app.record.append import ChainHead, HeadMoved, append_statements, chained_entries, is_lost_race
from tasks_app.run import children, next_task, reminders
from tasks_app.run.affinity import SessionAffinity
from tasks_app.run.history import History
from tasks_app.run.snapshot import COLUMNS, VERSION, TaskSnapshot
from tasks_app.run.usage import Calls
from tasks_app.runtime import broadcast, lease
from tools_app.held_resources import JOB

Fields = dict[str, Any]  # fields of the task
ExtraWrite = Callable[[], object] | None
# The columns that change while a call runs. Saving the other ones would write their indexes again.
_OUTCOME = ("arguments", "fingerprint", "danger", "status", "looped", "duration_ms", "checks")


class _Commit(NamedTuple):
    """The writes of one commit. `task_update` verifies the lease."""

    entries: Sequence[ContextEntry]
    fields: Fields
    task_update: UpdateRow
    statements: Sequence[Statement]


class UnitOfWork:
    """Staged changes, written together by the next commit."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.session: Session = task.session
        self.secrets = SessionSecrets(task.session)
        self.history = History.load(task.session)
        self.tree = children.tree_of(task)
        self.allowance = Allowance(task.started_by_id, task.id, self.tree)
        self.calls = Calls()
        self._affinity = SessionAffinity(task.session)
        self._head = ChainHead(task.session.last_seq, task.session.chain_head)
        self._snapshot: TaskSnapshot | None = None  # returned by the newest commit
        self.discard_staged()

    def stage(self, *drafts: Draft, rows: Sequence[models.Model] = (), **fields: Any) -> None:
        """Add entries, rows and fields of the task to the next commit."""
        self._drafts.extend(drafts)
        self._rows.extend(row for row in rows if row not in self._rows)
        self._fields |= fields

    def commit(self, *drafts: Draft, extra_write: Callable[[], object] | None = None, **fields: Any) -> None:
        """Write the staged changes, the drafts and the fields in one transaction: all or nothing.

        `extra_write` runs in the transaction. As it may change other tables, the next `snapshot` is then a fresh one.

        There are two paths:

          goes on ──────► _write: compose without a lock ──► transaction: lease, chain head and settings unchanged?
                                                                │ yes: done
                                                                ▼ no (HeadMoved, or a lost race)
          waits or ends ► _write_locked: transaction: lock the session, read everything again, compose, write
                                           a wait ends early if a person has stopped the task or sent a message
                                           an end starts the next task from the inbox

        Raises: StaleLease if another worker has taken the task over.
        """
        all_drafts = self._affinity.add_losses([*self._drafts, *drafts])
        fields = self._fields | self.calls.totals(self.task) | fields
        try:
            if fields.get("waiting_for") or fields.get("state") in ENDED:
                commit = self._write_locked(all_drafts, fields, extra_write)
            else:
                commit = self._write(all_drafts, fields, extra_write)
        except (HeadMoved, IntegrityError) as error:
            lease.write(self.task)  # raises StaleLease if the other writer has taken the task over
            if not is_lost_race(error):
                raise
            commit = self._write_locked(all_drafts, fields, extra_write)
        self._affinity.apply_commit()
        self._apply_commit(commit.entries, commit.fields)
        if self.task.state == TaskState.THINKING and extra_write is None:
            self._snapshot = TaskSnapshot.of_row(commit.task_update.returned)

    def _write(self, drafts: Sequence[Draft], fields: Fields, extra_write: ExtraWrite) -> "_Commit":
        """Write without a lock: compose from the known session and secrets, before the transaction.

        Raises: HeadMoved if they are outdated.
        """
        commit = self._compose(drafts, fields)
        with transaction.atomic(durable=True), executed(commit.statements):
            if commit.task_update.returned[0] != self.secrets.version:
                raise HeadMoved
            self._write_rest(extra_write)
        return commit

    def _write_locked(self, drafts: Sequence[Draft], fields: Fields, extra_write: ExtraWrite) -> "_Commit":
        """Write under the session's lock.

        Session and secrets are read again, so that no stop, message or new secret is missed.
        """
        with transaction.atomic(durable=True):
            self._head = lock(self.session)
            self.secrets.refresh()
            waiting_for, ends = fields.get("waiting_for"), fields.get("state") in ENDED
            if waiting_for and self.snapshot(fresh=True).ends_wait(self.task, waiting_for):
                waiting_for = fields["waiting_for"] = None
            if ends:
                waiting_for = None
                fields |= {"ended_at": timezone.now(), "waiting_for": None}
            if ends or waiting_for:
                fields |= {"lease_owner": "", "lease_expires_at": None}
            if waiting_for:
                fields["admitted_at"] = None
            commit = self._compose(drafts, fields)
            with executed(commit.statements):
                self._write_rest(extra_write)
            if ends:
                # A stop counts even if the task ended for another reason.
                was_stopped = TaskSnapshot.of_row(commit.task_update.returned).stop_requested
                next_task.start_next(self.session, self.task, stopped=was_stopped)
            if ends and (parent := self.task.parent_call_id):  # a lambda: Django cannot log a failed partial
                transaction.on_commit(lambda: children.advance_call(parent), robust=True)
        return commit

    def _compose(self, drafts: Sequence[Draft], fields: Fields) -> "_Commit":
        """Compose the redacted writes of a commit."""
        redactor = self.secrets.redactor
        fields = redactor.redacted_json(fields)
        entries = chained_entries(self.session, self.task, drafts, self._head, redactor)
        head_update, *inserts = append_statements(self.session, self._head, entries)
        needs_snapshot = fields.get("state", self.task.state) in (TaskState.THINKING, *ENDED)
        task_update = lease.guarded_update(self.task, fields, returning=COLUMNS if needs_snapshot else VERSION)
        logs = [row for row in self._rows if isinstance(row, ToolCallLog)]
        for log in logs:  # an argument may have become secret while the call ran
            log.arguments = redacted_arguments(log.arguments, redactor)
        statements = [
            head_update,
            task_update,
            *inserts,
            *(save(log, _OUTCOME) for log in logs),
            *map(save, self.calls.unsaved),
        ]
        return _Commit(entries, fields, task_update, statements)

    def _write_rest(self, extra_write: ExtraWrite) -> None:
        for row in self._rows:
            if not isinstance(row, ToolCallLog):
                row.save()
        self.calls.settle()
        self._affinity.save()
        if extra_write is not None:
            extra_write()
        if self._reserves_next_call and self._fields.get("state") == TaskState.THINKING:
            self.allowance.reserve_ahead(sum(len(draft.content.encode()) for draft in self._drafts))

    def report_ended_jobs(self) -> None:
        """Append a reminder of background commands that have ended, if the model does not know of them yet."""
        if ended := self._affinity.ended_jobs:
            readable = [number for number in ended if f"{JOB} {number}" in self._affinity.held]
            with self._affinity.reporting_ended_jobs():
                self.commit(reminders.jobs_ended(ended, readable))

    def append_messages(self, *following: Draft) -> bool:
        """Append the messages that people wrote while the task ran, then `following`. The next step calls the model.

        Return False if the messages were withdrawn.
        """
        self._snapshot = None
        with transaction.atomic(durable=True):
            lock(self.session)
            messages = list(InboxMessage.objects.for_running_task(self.session).select_related("author"))
            if not messages:
                return False
            lease.write(self.task, state=TaskState.THINKING)
            entries = next_task.deliver(self.session, self.task, messages)
            entries += append_entries(self.session, self.task, following)
        self._apply_commit(entries, {"state": TaskState.THINKING})
        return True

    def reserve_next_call(self) -> None:
        """Reserve the cost of the next LLM call with the next commit, so that the call needs no commit for it."""
        self._reserves_next_call = True

    def _apply_commit(self, entries: Sequence[ContextEntry], fields: Fields) -> None:
        """Update the state in memory after a commit, and notify followers."""
        self.discard_staged()
        self._snapshot = None
        self.calls = Calls()
        self.history.extend(entries)
        if entries:
            self._head = ChainHead(entries[-1].seq, entries[-1].hash)
        previous = (self.task.state, self.task.waiting_for)
        for name, value in fields.items():
            setattr(self.task, name, value)
        if previous != (self.task.state, self.task.waiting_for):
            broadcast.state_changed(self.task)  # followers then read the entries as well
        elif entries:
            broadcast.entry_appended(self.session, entries[-1].seq)

    def discard_staged(self) -> None:
        """Drop all staged changes."""
        self._drafts: list[Draft] = []
        self._rows: list[models.Model] = []
        self._fields: dict[str, Any] = {}
        self._reserves_next_call = False

    def snapshot(self, *, fresh: bool) -> TaskSnapshot:
        """Return the task's snapshot. Unless `fresh`, the one of the newest commit is enough.

        Raises: Task.DoesNotExist.
        """
        if fresh or self._snapshot is None:
            return TaskSnapshot.take(self.task)
        return self._snapshot

    def is_interrupted(self) -> bool:
        """Return whether the task must stop its current work."""
        try:
            return self.snapshot(fresh=True).interrupts(self.task)
        except Task.DoesNotExist:
            return False
