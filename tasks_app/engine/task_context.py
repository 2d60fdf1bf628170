"""A running task: what the loop knows of it, and the one way in which it writes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import F
from django.utils import timezone

from llm_app.abilities import Abilities
from llm_app.budgets.allowance import Allowance
from llm_app.models import Blob
from tasks_app import broadcast
from tasks_app.engine import lease, record, succession, wanted
from tasks_app.engine.calibration import Calibration
from tasks_app.engine.calls import Calls
from tasks_app.engine.draft import Draft
from tasks_app.engine.holding import Holding
from tasks_app.engine.interruption import Interruption
from tasks_app.engine.live_stream import LiveStream
from tasks_app.engine.loop_detector import LoopDetector
from tasks_app.engine.open_call import OpenCall, pending_call
from tasks_app.engine.session_context import SessionContext
from tasks_app.models import Agent, ContextEntry, InboxMessage, Limits, Session, Task, TaskState, ToolCallLog
from tasks_app.models.inbox import Mode
from tasks_app.models.task import ENDED
from tasks_app.session_secrets import SessionSecrets
from tools_app.holding import PAGE
from tools_app.hooks.base import Hook
from tools_app.policy import Policy
from tools_app.sandbox.base import Sandbox
from tools_app.situation import Situation
from tools_app.workspace import Workspace


class TaskContext:
    """Lives as long as one worker holds the task.

    What an iteration finds out is staged and goes, with all else, into the next commit: two commits an iteration.
    """

    def __init__(self, task: Task, workspace: Workspace, sandbox: Sandbox) -> None:
        self.task = task
        self.session: Session = task.session
        self._holding = Holding(task.session)
        self.secrets = SessionSecrets(task.session)
        self.history = SessionContext.load(task.session)
        self.calibration = Calibration(task.session.pk)
        self.workspace, self.sandbox = workspace, sandbox
        self.known_settings: tuple[Any, ...] = ()  # the state of the settings in which what follows was read
        self.limits = Limits.current()
        self.agent: Agent | None = None  # as it is set up at this step, with its sections of the prompt
        self.own_sections: tuple[tuple[str, str], ...] = ()
        self.hooks: Sequence[Hook] = ()
        self.policy = Policy()
        self.loaded_groups: frozenset[str] = frozenset()
        self.skills: tuple[tuple[str, str], ...] = ()
        self.abilities = Abilities()
        self.allowance = Allowance(task.started_by_id, task.id)
        self.interruption = Interruption(self.is_interrupted)
        self.streamed: LiveStream | None = None  # the newest reply's stream, to be withdrawn if its call is refused
        self.detector = LoopDetector(
            window=self.limits.tool_loop_window,
            threshold=self.limits.tool_loop_threshold,
            refusals=self.limits.tool_loop_refusals,
        )
        self.detector.load(self._calls_since_last_message())
        self._blobs: dict[str, str] = {}
        self.calls = Calls()
        self.discard_staged()

    # --- writing ------------------------------------------------------------------------------------------------

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
        told = self._holding.told([*self._drafts, *drafts])
        fields = self._fields | self.calls.totals(self.task) | fields
        with transaction.atomic(durable=True):
            head, masker = record.lock(self.session), self.secrets.refresh().masker
            fields = {name: masker.masked_json(value) for name, value in fields.items()}
            if fields.get("waiting_for") and self.is_interrupted():
                fields["waiting_for"] = None
            if ended := fields.get("state") in ENDED:
                fields |= {"ended_at": timezone.now(), "waiting_for": None}
            if ended or fields.get("waiting_for"):
                fields |= {"lease_owner": "", "lease_expires_at": None}
            lease.write(self.task, **fields or {"epoch": F("epoch")})
            entries = record.append(self.session, self.task, told, head=head, masker=masker)
            for row in self._rows:
                row.save()
            self.calls.save()
            self._holding.save()
            if also is not None:
                also()
            if ended:
                succession.hand_over(self.session, self.task, stopped=bool(fields.get("stopped")))
        self._committed(entries, fields)

    def take(self, messages: list[InboxMessage], *following: Draft) -> None:
        """Appends what people wrote while the task ran, and what follows it; the next step thinks anew."""
        with transaction.atomic(durable=True):
            record.lock(self.session)
            lease.write(self.task, state=TaskState.THINKING)
            entries = succession.deliver(self.session, self.task, messages)
            entries += record.append(self.session, self.task, following)
        self._committed(entries, {"state": TaskState.THINKING})
        self.detector.forget()

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

    def withdraw_stream(self) -> None:
        """Takes back what a person has seen of a call that will not run."""
        if self.streamed is not None:
            self.streamed.withdraw()

    def blob(self, text: str) -> str:
        """The address of a text that is part of requests; stored when it is new."""
        if text not in self._blobs:
            self._blobs[text] = Blob.keep(text)
        return self._blobs[text]

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The name of the logical model that answers; empty for the default one."""
        chosen = self.session.model or (self.agent and self.agent.model)
        return chosen.name if chosen else ""

    @property
    def situation(self) -> Situation:
        """What decides, beside the policy, which tools the model sees in this step."""
        return Situation(
            makes_images=bool(self.abilities.makes_images),
            makes_audio=bool(self.abilities.makes_audio),
            sees_pictures=bool(self.abilities.sees),
            has_open_page=self._holding.has(PAGE),
            has_jobs=self._holding.has_jobs,
            loaded=self.loaded_groups,
            skills=self.skills,
            has_groups=bool(self.policy.on_demand.keys() - self.loaded_groups),
            answers_only=self.has_made_all_calls,
            in_workflow=bool(self.task.workflow),
            has_cut=self.history.has_cut,
            output_schema=self.task.output_schema,
        )

    @property
    def has_made_all_calls(self) -> bool:
        """Whether the task has reached the limit on its tool calls, where there is one."""
        return self.task.calls_made >= (self.limits.tool_call_limit or math.inf)

    @property
    def filters_output(self) -> bool:
        """Whether nothing may be streamed, because a hook looks at what is said before anyone sees it."""
        return any(hook.filters_output for hook in self.hooks)

    def open_call(self) -> OpenCall | None:
        """The call that still waits for its result: after an approval, a crash or a restart it goes first."""
        entry = self.history.open_call()
        return pending_call(entry) if entry is not None else None

    def stop_requested(self) -> bool:
        return Task.objects.filter(pk=self.task.pk, stop_requested_at__isnull=False).exists()

    def interjections(self) -> list[InboxMessage]:
        waiting = InboxMessage.objects.waiting_in(self.session).filter(mode=Mode.INTERJECT)
        return list(waiting.select_related("author"))

    def is_interrupted(self) -> bool:
        """Whether a person wants the task to leave what it is doing."""
        return wanted.by_a_person(self.task)

    def _calls_since_last_message(self) -> list[tuple[str, bool]]:
        calls = ToolCallLog.objects.filter(task=self.task).order_by("pk")
        last = ContextEntry.objects.of(self.session).filter(context_type="user_message").last()
        if last is not None:
            calls = calls.filter(started_at__gt=last.created_at)
        return list(calls.values_list("fingerprint", "looped"))
