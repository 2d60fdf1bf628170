"""The JSON of sessions in REST, and the queries of its columns."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404

from llm_app.sql import cached_sql, fetch_first, with_rows
from tasks_app.api.formats import as_time
from tasks_app.models import Session, SessionSearch, with_filing
from tasks_app.models.session import parse_words
from tasks_app.services.found_lines import matching_line

Row = Mapping[str, Any]
COLUMNS = {  # fields of the JSON → lookups of Session
    "id": "pk",
    "title": "title",
    "model": "model__name",
    "agent": "agent__name",
    "active_agent": "active_agent__name",
    "project": "project",
    "summary": "summary",
    "next_steps": "next_steps",
    "owner": "owner__username",
    "task": "task_id",
    "parent": "parent",
    "parent_seq": "parent_seq",
    "root": "root",
    "folder": "folder",
    "denied_tools": "denied_tools",
    "off_record": "off_record",
    "pinned": "is_pinned",
    "archived": "is_archived",
    "tags": "tag_text",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
_TASK_COLUMNS = ("task_state", "task_waiting_for")
_NAMES = (*COLUMNS, *_TASK_COLUMNS)


def visible_sessions(user: Any, words: str, filters: Mapping[str, Any]) -> "QuerySet[Session, Any]":
    """Return the visible sessions that match: with `root` delegated ones, else those that people started."""
    sessions = Session.objects.visible_to(user)
    if "root" not in filters:
        sessions = sessions.started_by_people()
    if words:
        sessions = SessionSearch.parse(words).apply(sessions, user)
    return with_rows(sessions.filter(**filters), partial(_rows_of_page, user))


def _rows_of_page(user: Any, page: "QuerySet[Session, Any]") -> Iterable[Row]:
    """Return the rows of a page in its order, with one statement that sorts keys only."""
    rows = _row_values(user).filter(pk__in=page.values("pk")).order_by(*page.query.order_by)
    return map(_as_row, rows)


def with_found_lines(rows: Sequence[Row], words: str) -> list[Row]:
    """Return the rows, each with the line that matches the words of the search."""
    words_to_find = parse_words(SessionSearch.parse(words).words)
    sessions = Session.objects.in_bulk([row["id"] for row in rows]) if words_to_find else {}
    lines = {pk: matching_line(session, words_to_find) for pk, session in sessions.items()}
    return [{**row, "found_line": lines.get(row["id"], "")} for row in rows]


def visible_row(user: Any, session_id: UUID) -> Row:
    """Return the row of a session that the user can see. Raises Http404."""
    if (row := _find_visible_row(user, session_id)) is None:
        raise Http404()
    return _as_row(row)


def row_of(session: Session, user: Any) -> Row:
    """Return the session's row as in the list. Raises Http404 if it has just been deleted."""
    if (row := _find_row(user, session.pk)) is None:
        raise Http404()
    return _as_row(row)


def as_json(row: Row) -> dict[str, Any]:
    ids = {name: row[name] and str(row[name]) for name in ("id", "project", "parent", "root")}
    times = {name: as_time(row[name]) for name in ("created_at", "updated_at")}
    task = row["task"] and {"id": str(row["task"]), "state": row["task_state"], "waiting_for": row["task_waiting_for"]}
    plain = {name: row[name] for name in COLUMNS}
    line = row.get("found_line", "")
    return {**plain, **ids, **times, "task": task, "tags": row["tags"].split(), "found_line": line}


def _as_row(row: Sequence[Any]) -> Row:
    return dict(zip(_NAMES, row, strict=True))


def _row_values(user: Any) -> "QuerySet[Session, Any]":
    rows = with_filing(Session.objects.order_by().with_newest_task(), user)
    return rows.values_list(*COLUMNS.values(), *_TASK_COLUMNS)  # type: ignore[no-any-return]


@cached_sql
def _find_row(user: Any, pk: UUID) -> tuple[Any, ...] | None:
    return fetch_first(_row_values(user).filter(pk=pk))


@cached_sql
def _find_visible_row(user: Any, pk: UUID) -> tuple[Any, ...] | None:
    visible = Session.objects.visible_to(user).filter(pk=pk).order_by().values("pk")
    return fetch_first(_row_values(user).filter(pk__in=visible))
