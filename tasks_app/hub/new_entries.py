"""New entries as items that a page appends or replaces, each in its group of steps."""

from collections.abc import Sequence

from tasks_app.models import ContextEntry, Session, Task
from tasks_app.pages import fragments
from tasks_app.pages.fragments import Fragment, Place, Push
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
    lacking = next((entry for entry in entries if entry.tool_call_id and entry.tool_call_id not in calls), None)
    known: list[ContextEntry] = []
    if lacking is not None and call is not None and call.call and call.call["id"] == lacking.tool_call_id:
        known = [call]
    elif lacking is not None and (item := transcript.item_of(lacking)).result:
        known = [item.entry]
    return transcript.items_of_redacted(session, [*known, *entries])


def pushed(
    session: Session, items: Sequence[Item], entries: Sequence[ContextEntry], activity: Activity | None
) -> tuple[Fragment, Activity | None]:
    """Return the fragment that appends new items and replaces changed ones, and the activity after them.

    `activity` is the group of steps that is open before them. The line of a group is sent with its last item.
    """
    new = {entry.seq for entry in entries}
    pushes: list[Push] = []
    for item in items:
        place: Place = "old"
        if item.entry.seq in new:
            place = "message" if not is_step(item.entry) else "member" if activity else "group"
            activity = None if place == "message" else activity or Activity()
        if activity is not None:
            activity.add(item)
            if pushes and pushes[-1].activity is activity:
                pushes[-1] = pushes[-1]._replace(activity=None)
        pushes.append(Push(item, place, activity))
    return fragments.pushed(session, pushes), activity


def stands(task: Task) -> tuple[object, ...]:
    return task.pk, task.state, task.waiting_for, task.stopped


def looks(item: Item) -> tuple[object, ...]:
    """Return the inputs of a call's item that can change later. An answer gets its steps when its task ends."""
    decision = item.approval and (item.approval.decision, item.approval.note)
    about = item.seq, item.status, item.log and item.log.duration_ms, bool(item.change), decision
    return *about, len(item.entry.metadata.get("steps", ())), *children_stand(item.children)


def children_stand(children: Sequence[Task]) -> tuple[object, ...]:
    """Return the states of delegated tasks, and the tasks below them that wait for a person."""
    return (*map(stands, children), *(task.pk for task in delegated.waiting_for_person(children)))
