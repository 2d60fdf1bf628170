"""How a running task writes: everything goes into one transaction, guarded by its lease."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, models, transaction
from django.db.models import F
from django.utils import timezone

from llm_app.budgets import Allowance
from tasks_app.events import broadcast
from tasks_app.interaction import next_task
from tasks_app.models import ENDED, ContextEntry, InboxMessage, Mode, Session, Task, TaskState
from tasks_app.record import Draft, SessionSecrets, append_entries, lock
from tasks_app.run.affinity import SessionAffinity
from tasks_app.run.history import History
from tasks_app.run.usage import Calls
from tasks_app.runtime import lease

_ASKED = """
    SELECT EXISTS (SELECT 1 FROM tasks WHERE id = %s AND stop_requested_at IS NOT NULL) OR EXISTS (
        SELECT 1 FROM inbox_messages WHERE session_id = %s AND delivered_seq IS NULL AND mode = %s)
"""


class UnitOfWork:
    """Changes are staged and written together by the next commit: two commits an iteration."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.session: Session = task.session
        self.secrets = SessionSecrets(task.session)
        self.history = History.load(task.session)
        self.allowance = Allowance(task.started_by_id, task.id)
        self.calls = Calls()
        self._affinity = SessionAffinity(task.session)
        self.discard_staged()

    def stage(self, *drafts: Draft, rows: Sequence[models.Model] = (), **fields: Any) -> None:
        """Keeps entries, rows and fields of the task for the next commit."""
        self._drafts.extend(drafts)
        self._rows.extend(row for row in rows if row not in self._rows)
        self._fields |= fields

    def commit(self, *drafts: Draft, also: Callable[[], object] | None = None, **fields: Any) -> None:
        """Appends what is staged and `drafts`, saves the staged rows and sets the fields of the task: all or nothing.

        A task that would wait goes on instead if a person has come in; one that ends hands over to the next message,
        in the same transaction. Raises StaleLease.
        """
        drafts_with_losses = self._affinity.with_losses([*self._drafts, *drafts])
        fields = self._fields | self.calls.totals(self.task) | fields
        with transaction.atomic(durable=True):
            head, redactor = lock(self.session), self.secrets.refresh().redactor
            fields = {name: redactor.redacted_json(value) for name, value in fields.items()}
            if fields.get("waiting_for") and self.is_interrupted():
                fields["waiting_for"] = None
            if ended := fields.get("state") in ENDED:
                fields |= {"ended_at": timezone.now(), "waiting_for": None}
            if ended or fields.get("waiting_for"):
                fields |= {"lease_owner": "", "lease_expires_at": None}
            lease.write(self.task, **fields or {"epoch": F("epoch")})
            entries = append_entries(self.session, self.task, drafts_with_losses, head=head, redactor=redactor)
            for row in self._rows:
                row.save()
            self.calls.save()
            self._affinity.save()
            if also is not None:
                also()
            if ended:
                next_task.start_next(self.session, self.task, stopped=bool(fields.get("stopped")))
        self._committed(entries, fields)

    def take(self, messages: list[InboxMessage], *following: Draft) -> None:
        """Appends what people wrote while the task ran, and what follows it; the next step thinks anew."""
        with transaction.atomic(durable=True):
            lock(self.session)
            lease.write(self.task, state=TaskState.THINKING)
            entries = next_task.deliver(self.session, self.task, messages)
            entries += append_entries(self.session, self.task, following)
        self._committed(entries, {"state": TaskState.THINKING})

    def reserve_next_call(self) -> None:
        """In the commit of a result: so the next call needs no commit of its own for what it may cost."""
        if self._fields.get("state") == TaskState.THINKING:
            self.allowance.take_ahead(sum(len(draft.content.encode()) for draft in self._drafts))

    def _committed(self, entries: Sequence[ContextEntry], fields: dict[str, Any]) -> None:
        self.discard_staged()
        self.calls = Calls()
        self.history.extend(entries)
        was = (self.task.state, self.task.waiting_for)
        for name, value in fields.items():
            setattr(self.task, name, value)
        if was != (self.task.state, self.task.waiting_for):
            broadcast.state_changed(self.task)

    def discard_staged(self) -> None:
        """Forgets what was staged: the iteration that found it out has failed."""
        self._drafts: list[Draft] = []
        self._rows: list[models.Model] = []
        self._fields: dict[str, Any] = {}

    def is_interrupted(self) -> bool:
        """Whether a person wants the task to leave what it is doing."""
        return interrupt_requested(self.task)


def interrupt_requested(task: Task) -> bool:
    """Whether a person wants the task to leave what it is doing: to stop, or to read what they wrote.

    Raw SQL, because it is asked at each step and twice a second in between, and the answer is nearly always no.
    """
    prepared = Task._meta.pk.get_db_prep_value
    keys = [prepared(key, connection) for key in (task.pk, task.session_id)]
    with connection.cursor() as cursor:
        cursor.execute(_ASKED, [*keys, Mode.INTERJECT.value])
        return bool(cursor.fetchone()[0])
