"""Repeated calls, detected by their results in the record and by the changes of the workspace."""

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Max, OuterRef, Subquery

from tasks_app.models import CallStatus, ContextEntry, ContextType, Session, ToolCallLog
from tasks_app.record import Draft
from tasks_app.run import TaskContext, reminders
from tasks_app.run.loop_detector import CYCLE_REPEATS, EarlierRun
from tasks_app.run.open_call import OpenCall
from tools_app.contract import Danger


def repeated_result(context: TaskContext, fingerprint: str) -> str | None:
    """Return the last result of a call that has shown the same too often to run again; None for other calls.

    Results are read and files are looked at only for a call that has been made often enough.
    """
    if not (earlier := context.detector.earlier(fingerprint)):
        return None
    runs = _runs_of(context.session, earlier)
    is_repetition = context.detector.is_repetition
    if not is_repetition(runs, changed=0) or not is_repetition(runs, context.files_changed_at()):
        return None
    return runs[-1].result if is_repetition(runs, _newest_attempt(context, fingerprint)) else None


def _newest_attempt(context: TaskContext, fingerprint: str) -> int:
    """Return the newest entry at which a different, new call has succeeded that may have changed something.

    The file history does not see everything that an agent works on: ignored folders, commits, empty folders, $HOME,
    /tmp.
    """
    calls = ToolCallLog.objects.filter(task=context.task).exclude(fingerprint=fingerprint).order_by("pk")
    first_calls: dict[str, ToolCallLog] = {}
    for call in calls.only("fingerprint", "call_id", "status", "danger"):
        first_calls.setdefault(call.fingerprint, call)
    attempts = [
        call.call_id
        for call in first_calls.values()
        if call.status == CallStatus.SUCCEEDED and call.danger != Danger.SAFE.word
    ]
    entries = ContextEntry.objects.in_session(context.session).filter(seq__lte=context.history.last_seq)
    results = entries.filter(context_type=ContextType.TOOL_RESULT, tool_call_id__in=attempts)
    return results.aggregate(newest=Max("seq"))["newest"] or 0


def reminder_of_cycle(context: TaskContext, call: OpenCall) -> list[Draft]:
    """Return the reminder after the result of a call that completes a cycle with the same results each time."""
    calls = context.detector.cycle()
    if not calls or calls[-1].call_id != call.log.call_id:
        return []
    results = {run.call_id: run.comparable for run in _runs_of(context.session, [counted.call_id for counted in calls])}
    length = len(calls) // CYCLE_REPEATS
    for position in range(length):
        if len({results[counted.call_id] for counted in calls[position::length] if counted.call_id in results}) > 1:
            return []
    return reminders.cycle([counted.fingerprint for counted in calls[-length:]], call.log, CYCLE_REPEATS)


def _runs_of(session: Session, call_ids: Collection[str]) -> list[EarlierRun]:
    """Return the runs of these calls in the order of the record, as far as they have results."""
    in_context = ContextEntry.objects.in_session(session).in_context()
    call_seq = Subquery(in_context.filter(seq__lt=OuterRef("seq")).reverse().values("seq")[:1])
    results = in_context.filter(context_type=ContextType.TOOL_RESULT, tool_call_id__in=call_ids)
    rows = results.annotate(call_seq=call_seq)
    return [
        EarlierRun(seq=seq, call_id=call_id, result=content, comparable=(_without_time(content, metadata), images))
        for seq, call_id, content, metadata, images in rows.values_list(
            "call_seq", "tool_call_id", "content", "metadata", "images"
        )
    ]


def _without_time(content: str, metadata: Mapping[str, Any]) -> str:
    """Return a result without the seconds that its command took."""
    if "seconds" not in metadata:
        return content
    ending = f"[exit code {metadata['exit_code']}"
    output, separator, rest = content.rpartition(f"{ending}, {metadata['seconds']:.1f} s")
    return f"{output}{ending}{rest}" if separator else content
