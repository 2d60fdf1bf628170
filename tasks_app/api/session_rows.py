"""Sessions as REST shows them: what their JSON needs of the database, and the JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404

from llm_app.sql import cached_sql, fetch_first
from tasks_app.api.rows import Query, Rows, as_time
from tasks_app.models import Session, SessionSearch, with_filing
from tasks_app.models.session import parse_words, words_from_values
from tasks_app.services.found_lines import matching_line

Row = Mapping[str, Any]
COLUMNS = {  # what the database calls the fields of the JSON
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
_OF_TASK = ("task_state", "task_waiting_for")
_NAMES = (*COLUMNS, *_OF_TASK)


def listed(user: Any, words: str, filters: Mapping[str, Any]) -> Rows:
    """Those that a user may see: by `root` the delegated ones below it, else those that people started."""
    find = _visible if "root" in filters else _started_by_people
    search = SessionSearch.parse(words)
    rows = Rows(model=Session, find=partial(_found, find, search), show=_shown, of=[user], names=_NAMES, varies=True)
    if search.has_only_words:
        wanted = parse_words(search.words)
        matching = _matching(find, tuple(bool(asked) for _, asked in wanted))
        rows = replace(rows, find=matching, of=[user, *chain(*wanted)], varies=False)
    return replace(rows, filters=filters)


def with_found_lines(rows: Sequence[Row], words: str) -> list[Row]:
    """Add to each row the line in which a search found its words."""
    wanted = parse_words(SessionSearch.parse(words).words)
    sessions = Session.objects.in_bulk([row["id"] for row in rows]) if wanted else {}
    found = {pk: matching_line(session, wanted) for pk, session in sessions.items()}
    return [{**row, "found_line": found.get(row["id"], "")} for row in rows]


def visible_row(user: Any, session_id: UUID) -> Row:
    """Raises Http404."""
    if (row := _find_visible_row(user, session_id)) is None:
        raise Http404()
    return _named(row)


def row_of(session: Session, user: Any) -> Row:
    """One session as the list has it. Raises Http404 where it was deleted in this instant."""
    if (row := _find_row(user, session.pk)) is None:
        raise Http404()
    return _named(row)


def as_json(row: Row) -> dict[str, Any]:
    ids = {name: row[name] and str(row[name]) for name in ("id", "project", "parent", "root")}
    times = {name: as_time(row[name]) for name in ("created_at", "updated_at")}
    task = row["task"] and {"id": str(row["task"]), "state": row["task_state"], "waiting_for": row["task_waiting_for"]}
    plain = {name: row[name] for name in COLUMNS}
    line = row.get("found_line", "")
    return {**plain, **ids, **times, "task": task, "tags": row["tags"].split(), "found_line": line}


def _named(row: Sequence[Any]) -> Row:
    return dict(zip(_NAMES, row, strict=True))


def _visible(user: Any) -> Any:
    return Session.objects.visible_to(user)


def _started_by_people(user: Any) -> Any:
    return _visible(user).started_by_people()


def _found(find: Query, search: SessionSearch, user: Any) -> Any:
    sessions: Any = find(user)
    return search.apply(sessions, user)


@lru_cache(maxsize=64)
def _matching(find: Query, shape: tuple[bool, ...]) -> Query:
    return lambda user, *values: find(user).matching(words_from_values(shape, values))  # type: ignore[attr-defined]


def _shown(user: Any, *_: Any) -> "QuerySet[Session, Any]":
    rows = with_filing(Session.objects.order_by().with_newest_task(), user)
    return rows.values_list(*COLUMNS.values(), *_OF_TASK)  # type: ignore[no-any-return]


@cached_sql
def _find_row(user: Any, pk: UUID) -> tuple[Any, ...] | None:
    return fetch_first(_shown(user).filter(pk=pk))


@cached_sql
def _find_visible_row(user: Any, pk: UUID) -> tuple[Any, ...] | None:
    return fetch_first(_shown(user).filter(pk__in=_visible(user).filter(pk=pk).order_by().values("pk")))
