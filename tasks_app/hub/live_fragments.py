"""The live fragments around the conversation on a session's page, rendered again only when their inputs change."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.hub import new_entries
from tasks_app.models import ContextEntry, ContextType, InboxMessage, Session, Task
from tasks_app.pages import file_tree
from tasks_app.pages.fragments import Fragment, Viewer
from tasks_app.record import delegated, transcript
from tasks_app.record.item import Item
from tasks_app.runtime import admission

EXPENSIVE_SECONDS = 1.0  # between two renderings of an expensive fragment that changes with each step
_STATE_FRAGMENTS = ("state", "here", "said", "actions", "queue", "silence")  # depend on the task's state alone


@dataclass(frozen=True, kw_only=True)
class RefreshedRows:
    """The rows of one refresh: new entries up to `seq`, and the items that they make."""

    session: Session
    task: Task | None
    entries: Sequence[ContextEntry]
    items: Sequence[Item]
    seq: int


class PageFragments:
    """The fragments as they were last rendered.

    `needs_refresh` says that an expensive fragment may be out of date. `needs_files` says that files may have changed:
    the hub also sets it, before or during a refresh.
    """

    def __init__(self) -> None:
        self.newest_call: ContextEntry | None = None
        self.needs_refresh = False
        self.needs_files = True
        self._call_state: tuple[object, ...] = ()
        self._waiting_messages: list[InboxMessage] | None = None
        self._fragments: dict[str, tuple[object, Fragment]] = {}
        self._html: dict[Viewer, dict[str, str]] = {}
        self._rendered_at: dict[str, float] = {}

    def render_for(self, viewers: Collection[Viewer]) -> tuple[dict[Viewer, str], dict[Viewer, str]]:
        """Return the HTML of all fragments, and the HTML of the fragments that changed since the last call."""
        whole, changed, html_of_all = {}, {}, {}
        for viewer in viewers:
            fragments = {name: str(fragment.render_for(viewer)) for name, (_, fragment) in self._fragments.items()}
            previous = self._html.get(viewer, {})
            whole[viewer] = "".join(fragments.values())
            changed[viewer] = "".join(html for name, html in fragments.items() if previous.get(name) != html)
            html_of_all[viewer] = fragments
        self._html = html_of_all
        return whole, changed

    def update(self, rows: RefreshedRows, *, inbox_changed: bool, has_newcomers: bool) -> None:
        """Update the fragments from new rows.

        `inbox_changed` says that waiting messages may have changed. `has_newcomers` says that some pages have no
        fragments yet.
        """
        session, task = rows.session, rows.task
        queue_position = admission.position_of(task) if task else None
        common = {"session": session, "task": task, "queue_position": queue_position, "oob": True}
        silence = task.silent_provider if task else None
        children = new_entries.children_state(delegated.awaited_children(task)) if task else ()
        task_state = (*new_entries.task_state(task), queue_position, silence, *children) if task else None
        state_changed = "state" not in self._fragments or self._fragments["state"][0] != task_state
        for name in _STATE_FRAGMENTS:
            self._set(name, task_state, **common)
        agent_id = session.active_agent_id or session.agent_id
        if agent_id or "agent" in self._fragments:
            self._set("agent", agent_id, **common)
        self._set("plan", (task.pk, task.plan, task.workflow, task.is_active) if task else None, **common)
        self._update_waiting(rows, common, may_have_changed=inbox_changed or has_newcomers)
        self._update_newest_call(rows, may_have_changed=state_changed or has_newcomers)
        self._update_expensive(rows, common, has_newcomers=has_newcomers)

    def _set(self, name: str, inputs: object, **context: Any) -> None:
        """Create the fragment if it is missing or its inputs have changed."""
        if name not in self._fragments or self._fragments[name][0] != inputs:
            self._fragments[name] = (inputs, Fragment(f"chat/_{name}.html", **context))

    def _update_waiting(self, rows: RefreshedRows, common: dict[str, Any], *, may_have_changed: bool) -> None:
        has_read_messages = any(entry.context_type == ContextType.USER_MESSAGE for entry in rows.entries)
        if may_have_changed or has_read_messages or self._waiting_messages is None:
            self._waiting_messages = list(InboxMessage.objects.waiting_in(rows.session).select_related("author"))
        # A message's content changes when a part of it becomes secret.
        contents = [(message.pk, message.content) for message in self._waiting_messages]
        self._set("waiting", contents, **common, waiting=self._waiting_messages)

    def _update_newest_call(self, rows: RefreshedRows, *, may_have_changed: bool) -> None:
        """Render the newest call again when its task or a person's decision changes how it looks."""
        session, task = rows.session, rows.task
        newest = next((item for item in reversed(rows.items) if item.entry.has_call), None)
        if newest:
            self.newest_call, self._call_state = newest.entry, new_entries.call_state(newest)
            self._fragments.pop("entry", None)  # already among the new items
        has_ended = task is not None and not task.is_active  # only then is the list of steps of an answer complete
        if may_have_changed and (has_ended or not newest):
            item = transcript.newest_call(session)
            if item is None or item.seq > rows.seq:
                return
            if item.needs_approval or new_entries.call_state(item) != self._call_state:
                self.newest_call, self._call_state = item.entry, new_entries.call_state(item)
                self._set("entry", object(), session=session, item=item, task=task)

    def _update_expensive(self, rows: RefreshedRows, common: dict[str, Any], *, has_newcomers: bool) -> None:
        """Render budgets, tokens and files: immediately while the task rests, otherwise at most once a second."""
        session, task, self.needs_refresh = rows.session, rows.task, False
        is_resting = task is None or not task.is_active or bool(task.waiting_for)
        usage = task and (task.pk, task.iteration, task.usage, task.cost_usd, task.is_active)
        usage_changed = "spent" not in self._fragments or self._fragments["spent"][0] != usage
        if usage_changed and self._is_due("spent", is_urgent=is_resting):
            self._set("spent", usage, **common)
        if has_newcomers or any(entry.tool_call_id for entry in rows.entries):
            self.needs_files = True
        if self.needs_files and self._is_due("files", is_urgent=is_resting or has_newcomers):
            self.needs_files = False  # reset first: a change during the read sets it again
            tree = file_tree.tree_of(session)
            self._set("files", tree, session=session, tree=tree, oob=False)

    def _is_due(self, name: str, *, is_urgent: bool) -> bool:
        now = time.monotonic()
        if is_urgent or now - self._rendered_at.get(name, 0.0) >= EXPENSIVE_SECONDS:
            self._rendered_at[name] = now
            return True
        self.needs_refresh = True
        return False
