"""The record as people read it, with a call and its result in one item."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, takewhile
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch

from llm_app import active_secrets
from llm_app.models import LLMLog, Route
from llm_app.sql import cached_sql, fetch_all
from llm_app.transport import own_words
from tasks_app.models import ContextEntry, ContextType, FileChange, Session, ToolCallLog, WorkspaceChange
from tasks_app.models.entry import EntryQuerySet
from tasks_app.record import delegated, redact_entries, redactor_of
from tasks_app.record.activity import STEPS, Activity, ItemGroup, is_step, item_groups
from tasks_app.record.item import MAX_NAMES, MAX_PREVIEW_CHARS, Item
from tools_app.files import as_text

PAGE_ENTRIES, PAGE_BYTES = 60, 60_000  # limits of entries and, roughly, bytes of HTML; the rest of the page has 30,000
MAX_ACTIVITY_ENTRIES = 500  # entries read for the line of an activity that has already begun
_MARKUP_BYTES = 600  # bytes of HTML per entry besides its text


def _has_changed(call_id: str) -> Exists:
    """Return whether the call, whose id is in this column, changed files."""
    return Exists(WorkspaceChange.objects.filter(session=OuterRef("session_id"), call_id=OuterRef(call_id)))


@cached_sql
def _logs_of(session: Any, call_ids: Collection[str]) -> list[Any]:
    logs = ToolCallLog.objects.filter(session_id=session, call_id__in=call_ids).select_related("approval__decided_by")
    return fetch_all(logs.annotate(has_changed=_has_changed("call_id")))


@dataclass(frozen=True, kw_only=True)
class TranscriptPage:
    """Consecutive items. `earlier` is the `seq` before which more items exist, or None."""

    items: Sequence[Item]
    earlier: int | None

    @property
    def groups(self) -> list[ItemGroup]:
        return item_groups(self.items)


def newest_page(session: Session, before: int | None = None) -> TranscriptPage:
    """Return the last items of a session, or the last ones before an entry, up to the size limit.

    A page has at least one item, and never separates a call from its result.
    """
    entries = ContextEntry.objects.in_session(session)
    if before is not None:
        entries = entries.filter(seq__lt=before)
    newest = list(entries.reverse()[: PAGE_ENTRIES + 1])
    count = _count_fitting(newest)
    if count < len(newest) and newest[count - 1].context_type == ContextType.TOOL_RESULT:
        count += 1
    page_entries = newest[:count][::-1]
    earlier = page_entries[0].seq if page_entries and page_entries[0].seq > 1 else None
    return TranscriptPage(items=items_of(session, page_entries), earlier=earlier)


def _count_fitting(newest: Sequence[ContextEntry]) -> int:
    """Return how many entries fit into a page, at least one."""
    sizes = (_MARKUP_BYTES + len(escape(_visible_text(entry)).encode()) for entry in newest[:PAGE_ENTRIES])
    return max(1, sum(1 for _ in takewhile(lambda total: total <= PAGE_BYTES, accumulate(sizes))))


def _visible_text(entry: ContextEntry) -> str:
    """Return the text that a page shows before a card is opened."""
    if entry.context_type == ContextType.TOOL_RESULT:
        return entry.content[:MAX_PREVIEW_CHARS]
    limit = MAX_PREVIEW_CHARS if entry.context_type == ContextType.TOOL_CALL else None
    return f"{entry.content}{entry.thinking}{entry.tool_call[:limit]}"


def with_logs(entries: EntryQuerySet) -> EntryQuerySet:
    """Join each result with the log of its call, to save a query when items are built."""
    return entries.select_related("log__approval__decided_by").annotate(has_changed=_has_changed("tool_call_id"))


def items_of(session: Session, entries: Iterable[ContextEntry]) -> list[Item]:
    """Return one item per entry. A result whose call is among the entries belongs to the call's item."""
    return items_of_redacted(session, redact_entries(session, entries))


def items_of_redacted(session: Session, entries: Sequence[ContextEntry]) -> list[Item]:
    """Return items like `items_of`, of entries that are already redacted."""
    results = {entry.tool_call_id: entry for entry in entries if entry.tool_call_id}
    calls = {entry.seq: entry.call["id"] for entry in entries if entry.call}
    logs = _logs(session, calls.values(), results.values())
    failed = _failed_calls(entries)
    routes = _routes_of(failed.values())
    changes = _changes(session, [call for call, log in logs.items() if log.has_changed])
    children = delegated.children_of(logs.values())
    return [
        Item(
            entry=entry,
            result=results.get(calls.get(entry.seq, "")),
            log=logs.get(calls.get(entry.seq, "")),
            failed_call=failed.get(entry.metadata.get("llm_call", "")),
            failed_route=routes.get(entry.metadata.get("llm_call", "")),
            change=changes.get(calls.get(entry.seq, "")),
            children=children.get(calls.get(entry.seq, ""), ()),
        )
        for entry in entries
        if entry.tool_call_id not in calls.values()
    ]


def item_of(entry: ContextEntry) -> Item:
    """Return the item that an entry belongs to. A result belongs to its call."""
    entries = ContextEntry.objects.in_session(entry.session)
    if entry.tool_call_id:
        call = entries.filter(seq__lt=entry.seq).with_call().last()
        if call is not None and call.call is not None and call.call["id"] == entry.tool_call_id:
            return items_of(entry.session, [call, entry])[0]
    return items_of(entry.session, [entry])[0]


def item_at(session: Session, seq: int) -> Item | None:
    entry = ContextEntry.objects.in_session(session).filter(seq=seq).first()
    return item_of(entry) if entry and not entry.call else _call_item(entry)


def activity_at(session: Session, seq: int) -> Activity | None:
    """Return the activity that a next step would join, or None after a message."""
    entries = ContextEntry.objects.in_session(session).filter(seq__lte=seq)
    newest = entries.exclude(context_type=ContextType.TOOL_RESULT).last()
    if newest is None or not is_step(newest):
        return None
    begin = entries.exclude(context_type__in=STEPS).values_list("seq", flat=True).last() or 0
    newest_first = entries.filter(seq__gt=begin).reverse()[:MAX_ACTIVITY_ENTRIES]
    return Activity(items_of(session, reversed(newest_first)))


def newest_call(session: Session) -> Item | None:
    """Return the last call with its result, if any. Its card changes with the state of the task."""
    return _call_item(ContextEntry.objects.in_session(session).with_call().last())


def call_item(session: Session, call_id: str) -> Item | None:
    """Return the item of a call id."""
    start = json.dumps({"id": call_id}, ensure_ascii=False, separators=(",", ":"))[:-1]
    return _call_item(ContextEntry.objects.in_session(session).filter(tool_call__startswith=f"{start},").first())


def _call_item(entry: ContextEntry | None) -> Item | None:
    if entry is None or entry.call is None:
        return None
    results = ContextEntry.objects.in_session(entry.session).filter(
        context_type=ContextType.TOOL_RESULT, tool_call_id=entry.call["id"]
    )
    return items_of(entry.session, [entry, *results])[0]


def _logs(session: Session, calls: Iterable[str], results: Iterable[Any]) -> dict[str, Any]:
    """Return logs by call id. Logs that were joined with the results are not queried again."""
    joined = [result for result in results if ContextEntry.log.is_cached(result) and result.log]
    for result in joined:
        result.log.has_changed = result.has_changed
    logs = {result.tool_call_id: result.log for result in joined}
    missing = [call for call in calls if call not in logs]
    return logs | {log.call_id: log for log in _logs_of(session.pk, missing)} if missing else logs


def _changes(session: Session, call_ids: Collection[str]) -> dict[str, WorkspaceChange]:
    """Return the file changes of calls by call id, with their `count` and first paths."""
    if not call_ids:
        return {}
    changes = WorkspaceChange.objects.filter(session=session, call_id__in=call_ids)
    files = FileChange.objects.order_by("path").only("change_id", "path")[:MAX_NAMES]
    counted = changes.annotate(count=Count("files"))
    rows: list[Any] = list(counted.prefetch_related(Prefetch("files", files, to_attr="first_files")))
    redactor = redactor_of(session)
    for row in rows:
        row.first_paths = [as_text(redactor.redacted(file.path)) for file in row.first_files]
        row.further_paths = row.count - len(row.first_paths)
    return {row.call_id: row for row in rows}


def _failed_calls(entries: Iterable[ContextEntry]) -> dict[str, LLMLog]:
    """Return the LLM calls that notices report, by id. Their error is the provider's text, redacted as in the
    admin.
    """
    notices = [entry for entry in entries if entry.context_type == ContextType.STATUS_NOTICE]
    ids = [entry.metadata["llm_call"] for entry in notices if entry.metadata.get("llm_call")]
    logs = {str(log.pk): log for log in LLMLog.objects.filter(pk__in=ids)} if ids else {}
    for log in logs.values():
        status = log.error.partition(": ")[0] + ": " if log.error.startswith("HTTP ") else ""
        message = own_words(log.error)
        log.error = active_secrets.for_everyone().redactor.redacted(status + message if message else log.error)
    return logs


def _routes_of(logs: Collection[LLMLog]) -> dict[str, Route]:
    """Return the routes of LLM calls by the ids of the calls, as far as they still exist."""
    if not logs:
        return {}
    names = {"provider__name__in": {log.provider for log in logs}, "model__name__in": {log.model for log in logs}}
    routes = {
        (route.provider.name, route.provider_model, route.model.name): route
        for route in Route.objects.filter(**names).select_related("provider", "model").defer("provider__api_key")
    }
    found = ((str(log.pk), routes.get((log.provider, log.provider_model, log.model))) for log in logs)
    return {call_id: route for call_id, route in found if route is not None}
