"""The context of a second run: appended entries are compared with the record, and nothing is written."""

import hashlib
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from tasks_app.engine import step_settings
from tasks_app.models import Agent, ContextEntry, ContextType, Task, TaskState, WorkspaceChange
from tasks_app.record import Draft
from tasks_app.replay.recorded import RecordedScript
from tasks_app.run import History, TaskContext
from tasks_app.run.snapshot import TaskSnapshot
from tasks_app.run.usage import Calls
from tasks_app.workspace.folders import sandbox, workspace_of


class RerunContext(TaskContext):
    """A task's context from its beginning, with current settings, tools and secrets.

    Hooks do not run: they are other people's code, and their effects are in the record.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(_fresh(task), workspace_of(task.session), sandbox())
        entries = list(ContextEntry.objects.in_session(task.session).in_context())
        own_indexes = [index for index, entry in enumerate(entries) if entry.task_id == task.pk]
        start = own_indexes[0] if own_indexes else len(entries)
        begins = entries[start].seq if own_indexes else task.session.last_seq
        self.history = History(task.session, [limits for limits in task.session.left_out if limits[1] < begins])
        self.history.extend(entries[:start])
        self.recorded = RecordedScript([entries[index] for index in own_indexes], self.secrets.redactor)
        version = task.agent_version
        self._agent = version.agent_id if version else task.session.agent_id
        self._refresh()
        self.detector = self.settings.loop_detector()

    def _refresh(self) -> None:
        step_settings.refresh_all(self, self.snapshot(fresh=True))
        self.settings = replace(self.settings, hooks=())

    def commit(self, *drafts: Draft, extra_write: Callable[[], object] | None = None, **fields: Any) -> None:
        """Compare the drafts with the record, and continue with the recorded entries. Raises Divergence."""
        fields = self._fields | fields
        for draft in [*self._drafts, *drafts]:
            if draft.in_context:
                self.history.extend(self.recorded.follow(draft.redacted(self.secrets.redactor)))
        self.discard_staged()
        self.calls = Calls()
        for name, value in fields.items():
            setattr(self.task, name, value)

    def accept_recorded(self) -> ContextEntry:
        """Accept and return the next entry as it was recorded."""
        entry = self.recorded.take()
        self.history.extend([entry])
        if entry.context_type == ContextType.HANDOFF:
            self._agent = Agent.objects.filter(name=entry.metadata["to"]).values_list("pk", flat=True).first()
            self._refresh()
        return entry

    def files_changed_at(self) -> int:
        """Return the position of the last file change among the entries so far."""
        changes = WorkspaceChange.objects.filter(session=self.session, seq__lte=self.history.last_seq)
        return self._newest_change(changes)

    def blob(self, text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    def snapshot(self, *, fresh: bool) -> TaskSnapshot:
        """Return the state of the task, uninterrupted and with the agent that the record implies."""
        snapshot = super().snapshot(fresh=fresh)
        return replace(snapshot, epoch=self.task.epoch, stop_requested=False, message="", agent=self._agent)


def _fresh(task: Task) -> Task:
    """Return an unsaved copy of the task in its initial state."""
    fresh = copy(task)
    fresh.state, fresh.waiting_for = TaskState.THINKING, None
    fresh.iteration = fresh.calls_made = fresh.misfits = fresh.handoffs = 0
    fresh.plan, fresh.shown_tools, fresh.reminded = [], [], {}
    return fresh
