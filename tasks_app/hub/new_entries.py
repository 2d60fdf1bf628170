"""New entries as pages get them: items that are appended or replaced, in the group of steps that they belong to."""

from collections.abc import Sequence

from tasks_app.models import ContextEntry, Session, Task
from tasks_app.pages import fragments
from tasks_app.pages.fragments import Fragment, Place, Push
from tasks_app.record import delegated, transcript
from tasks_app.record.activity import Activity, is_step
from tasks_app.record.item import Item


def items_of_new(session: Session, entries: Sequence[ContextEntry], call: ContextEntry | None) -> list[Item]:
    """The items that redacted entries make; the first may be one that pages have, with the result that it lacked.

    `call` is the newest one before the entries, where it is known.
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
    """Of the items, those whose entry is new are appended, others replaced. `activity` is what is being done before
    them; what is being done after them is the second value. The line of a group comes with its last item.
    """
    new = {entry.seq for entry in entries}
    pushes: list[Push] = []
    for item in items:
        place: Place = "old"
        if item.entry.seq in new:
            place = "message" if not is_step(item.entry) else "member" if activity else "group"
            activity = None if place == "message" else activity or Activity()
        if activity is not None:
            activity.take(item)
            if pushes and pushes[-1].activity is activity:
                pushes[-1] = pushes[-1]._replace(activity=None)
        pushes.append(Push(item, place, activity))
    return fragments.pushed(session, pushes), activity


def stands(task: Task) -> tuple[object, ...]:
    return task.pk, task.state, task.waiting_for, task.stopped


def looks(item: Item) -> tuple[object, ...]:
    """What a call's item shows beside what was appended; an answer gets its steps when its task ends."""
    decision = item.approval and (item.approval.decision, item.approval.note)
    about = item.seq, item.status, item.log and item.log.duration_ms, bool(item.change), decision
    return *about, len(item.entry.metadata.get("steps", ())), *children_stand(item.children)


def children_stand(children: Sequence[Task]) -> tuple[object, ...]:
    """With those below them that wait for a person."""
    return (*map(stands, children), *(task.pk for task in delegated.asking(children)))
