"""New entries as items that a page appends or replaces, each in its group of steps."""

from collections.abc import Sequence

from tasks_app.models import ContextEntry, Session, Task
from tasks_app.pages import fragments
from tasks_app.pages.fragments import Fragment, ItemPosition, ItemUpdate
from tasks_app.record import delegated, transcript
from tasks_app.record.activity import Activity, is_step
from tasks_app.record.item import Item


def items_of_new(session: Session, entries: Sequence[ContextEntry], call: ContextEntry | None) -> list[Item]:
    """Return the items of new, redacted entries.

    The first item may replace one that pages already have: a call whose result is now known. `call` is the newest call
    before the entries, if it is known.
    """
    if not entries:
        return []
    calls = {entry.call["id"] for entry in entries if entry.call}
    result = next((entry for entry in entries if entry.tool_call_id and entry.tool_call_id not in calls), None)
    earlier: list[ContextEntry] = []
    if result is not None and call is not None and call.call and call.call["id"] == result.tool_call_id:
        earlier = [call]
    elif result is not None and (item := transcript.item_of(result)).result:
        earlier = [item.entry]
    return transcript.items_of_redacted(session, [*earlier, *entries])


def items_fragment(
    session: Session, items: Sequence[Item], entries: Sequence[ContextEntry], activity: Activity | None
) -> tuple[Fragment, Activity | None]:
    """Return the fragment that appends new items and replaces changed ones, and the activity after them.

    `activity` is the group of steps that is open before them. The line of a group is sent with its last item.
    """
    new_seqs = {entry.seq for entry in entries}
    updates: list[ItemUpdate] = []
    for item in items:
        position: ItemPosition = "old"
        if item.entry.seq in new_seqs:
            position = "message" if not is_step(item.entry) else "member" if activity else "group"
            activity = None if position == "message" else activity or Activity()
        if activity is not None:
            activity.add(item)
            if updates and updates[-1].activity is activity:
                updates[-1] = updates[-1]._replace(activity=None)
        updates.append(ItemUpdate(item, position, activity))
    return fragments.item_updates(session, updates), activity


def task_state(task: Task) -> tuple[object, ...]:
    return task.pk, task.state, task.waiting_for, task.stopped


def call_state(item: Item) -> tuple[object, ...]:
    """Return the inputs of a call's item that can change later. An answer gets its steps when its task ends."""
    decision = item.approval and (item.approval.decision, item.approval.note)
    call = item.seq, item.status, item.log and item.log.duration_ms, bool(item.change), decision
    return *call, len(item.entry.metadata.get("steps", ())), *children_state(item.children)


def children_state(children: Sequence[Task]) -> tuple[object, ...]:
    """Return the states of delegated tasks, and the tasks below them that wait for a person."""
    return (*map(task_state, children), *(task.pk for task in delegated.waiting_for_person(children)))
