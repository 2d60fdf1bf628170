"""The live fragments around the conversation on a session's page. A fragment is rendered again only when its inputs
change.
"""

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

SELDOM_SECONDS = 1.0  # between two renderings of an expensive fragment that changes with each step
_WITH_STATE = ("state", "here", "said", "actions", "queue", "silence")  # depend on the task's state alone


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The rows of one refresh: new entries up to `seq`, and the items that they make."""

    session: Session
    task: Task | None
    entries: Sequence[ContextEntry]
    items: Sequence[Item]
    seq: int


class Pieces:
    """The fragments as they were last rendered.

    `call` is the newest tool call. `is_behind` says that an expensive fragment may be out of date. `files_may_differ`
    is also set by the hub, before or during a refresh.
    """

    def __init__(self) -> None:
        self.call: ContextEntry | None = None
        self.is_behind = False
        self.files_may_differ = True
        self._looks_of_call: tuple[object, ...] = ()
        self._waiting: list[InboxMessage] | None = None
        self._pieces: dict[str, tuple[object, Fragment]] = {}
        self._shown: dict[Viewer, dict[str, str]] = {}
        self._looked: dict[str, float] = {}

    def seen_by(self, viewers: Collection[Viewer]) -> tuple[dict[Viewer, str], dict[Viewer, str]]:
        """Return the HTML of all fragments, and the HTML of the fragments that changed since the last call."""
        whole, changed, shown = {}, {}, {}
        for viewer in viewers:
            pieces = {name: str(fragment.seen_by(viewer)) for name, (_, fragment) in self._pieces.items()}
            before = self._shown.get(viewer, {})
            whole[viewer] = "".join(pieces.values())
            changed[viewer] = "".join(html for name, html in pieces.items() if before.get(name) != html)
            shown[viewer] = pieces
        self._shown = shown
        return whole, changed

    def draw(self, moment: Moment, *, inbox: bool, newcomers: bool) -> None:
        """Update the fragments from new rows.

        `inbox` says that waiting messages may have changed. `newcomers` says that some pages have no fragments yet.
        """
        session, task = moment.session, moment.task
        position = admission.position_of(task) if task else None
        common = {"session": session, "task": task, "queue_position": position, "oob": True}
        silence = task.silent_provider if task else None
        children = new_entries.children_stand(delegated.awaited_children(task)) if task else ()
        stands = (*new_entries.stands(task), position, silence, *children) if task else None
        has_moved = "state" not in self._pieces or self._pieces["state"][0] != stands
        for name in _WITH_STATE:
            self._draw(name, stands, **common)
        acting = session.active_agent_id or session.agent_id
        if acting or "agent" in self._pieces:
            self._draw("agent", acting, **common)
        self._draw("plan", (task.pk, task.plan, task.workflow, task.is_active) if task else None, **common)
        self._draw_waiting(moment, common, is_asked=inbox or newcomers)
        self._draw_newest_call(moment, is_asked=has_moved or newcomers)
        self._draw_seldom(moment, common, newcomers=newcomers)

    def _draw(self, name: str, inputs: object, **context: Any) -> None:
        """Create the fragment if it is missing or its inputs have changed."""
        if name not in self._pieces or self._pieces[name][0] != inputs:
            self._pieces[name] = (inputs, Fragment(f"chat/_{name}.html", **context))

    def _draw_waiting(self, moment: Moment, common: dict[str, Any], *, is_asked: bool) -> None:
        is_read = any(one.context_type == ContextType.USER_MESSAGE for one in moment.entries)
        if is_asked or is_read or self._waiting is None:
            self._waiting = list(InboxMessage.objects.waiting_in(moment.session).select_related("author"))
        said = [(message.pk, message.content) for message in self._waiting]  # content that became secret differs here
        self._draw("waiting", said, **common, waiting=self._waiting)

    def _draw_newest_call(self, moment: Moment, *, is_asked: bool) -> None:
        """Render the newest call again when its task or a person's decision changes how it looks."""
        session, task = moment.session, moment.task
        if newest := next((item for item in reversed(moment.items) if item.entry.tool_call), None):
            self.call, self._looks_of_call = newest.entry, new_entries.looks(newest)
            self._pieces.pop("entry", None)  # already among the new items
        has_ended = task is not None and not task.is_active  # only then is the list of steps of an answer complete
        if is_asked and (has_ended or not newest):
            item = transcript.newest_call(session)
            is_told = item is not None and item.seq <= moment.seq
            if item and is_told and (item.needs_approval or new_entries.looks(item) != self._looks_of_call):
                self.call, self._looks_of_call = item.entry, new_entries.looks(item)
                self._draw("entry", object(), session=session, item=item, task=task)

    def _draw_seldom(self, moment: Moment, common: dict[str, Any], *, newcomers: bool) -> None:
        """Render budgets, tokens and files: immediately while the task rests, otherwise at most once a second."""
        session, task, self.is_behind = moment.session, moment.task, False
        rests = task is None or not task.is_active or bool(task.waiting_for)
        used = task and (task.pk, task.iteration, task.usage, task.cost_usd, task.is_active)
        if ("spent" not in self._pieces or self._pieces["spent"][0] != used) and self._is_due("spent", rests=rests):
            self._draw("spent", used, **common)
        if newcomers or any(entry.tool_call_id for entry in moment.entries):
            self.files_may_differ = True
        if self.files_may_differ and self._is_due("files", rests=rests or newcomers):
            self.files_may_differ = False  # reset first: a change during the read sets it again
            tree = file_tree.tree_of(session)
            self._draw("files", tree, session=session, tree=tree, oob=False)

    def _is_due(self, name: str, *, rests: bool) -> bool:
        now = time.monotonic()
        if rests or now - self._looked.get(name, 0.0) >= SELDOM_SECONDS:
            self._looked[name] = now
            return True
        self.is_behind = True
        return False
