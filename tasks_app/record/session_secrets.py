"""The secrets that are redacted in a session: the team's, and those of all people with write access.

A value that became secret after an entry was stored is redacted when the entry is read.
"""

import json
from collections.abc import Iterable
from copy import copy
from dataclasses import asdict
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import BigIntegerField, Q, QuerySet, Value

from llm_app import active_secrets
from llm_app.active_secrets import ActiveSecrets
from llm_app.models import Secret
from llm_app.redaction import Redactor, redacted_call
from llm_app.sql import cached_sql, fetch_all
from llm_app.types import ToolCall
from tasks_app.models import ContextEntry, Project, ProjectMember, Session, SessionMember, Task


class SessionSecrets:
    """The secrets of a session's writers, as of the last `refresh`."""

    def __init__(self, session: Session) -> None:
        self._session_id = session.pk
        self.version: int | None = None  # settings version of the last refresh
        self.active = self.refresh()

    def refresh(self, version: int | None = None) -> ActiveSecrets:
        """Read the secrets again, unless `version`, a settings version that the caller has just read, is unchanged."""
        if version is None or version != self.version:
            writers = _people(_writers_of(self._session_id))
            self.active, self.version = active_secrets.for_users(writers), version
        return self.active

    def usable_in(self, task: Task) -> dict[str, str]:
        """Return the secrets that calls of `task` may use now, as values by name. This worker must hold the task.

        The agent follows instructions of everyone who has write access to the session or has written in the task. It
        therefore gets only secrets that each of them may use. A person's own secret precedes the team's of the same
        name.
        """
        if not self.active.secrets:
            return {}
        people = {task.started_by_id, *task.other_authors, *_people(_writers_of(task.session_id))}
        usable = set(Secret.objects.usable_by_all(people).values_list("name", "owner"))
        values = {(name, owner): value for name, owner, value in self.active.secrets if (name, owner) in usable}
        return {name: values[name, owner] for name, owner in sorted(values, key=lambda key: key[1] is not None)}

    @property
    def redactor(self) -> Redactor:
        """The redactor as of the last refresh."""
        return self.active.redactor


def redactor_of(session: Session) -> Redactor:
    """Return an up-to-date redactor of the session's record."""
    return SessionSecrets(session).redactor


def _may_write(sessions: QuerySet[Session]) -> QuerySet[Session, Any]:
    """Return rows of (user, role) with write access. One of the two is None in each row."""
    rows_of = Q(session__in=sessions) | Q(session__descendants__in=sessions)
    session_members = SessionMember.objects.filter(rows_of, may_write=True)
    projects = Project.objects.filter(sessions__in=sessions).order_by()
    in_projects = ProjectMember.objects.filter(project__in=projects.values("pk"), may_write=True)
    no_role = Value(None, output_field=BigIntegerField())
    owners = projects.values_list("owner", no_role)
    # `owners` is last: if the first two branches had no role, PostgreSQL would type that column as text.
    branches = [*(members.values_list("user", "role") for members in (session_members, in_projects)), owners]
    return sessions.order_by().values_list("owner", no_role).union(*branches)


@cached_sql
def _writers_of(session: Any) -> list[tuple[int | None, int | None]]:
    return fetch_all(_may_write(Session.objects.filter(pk=session)))


def _people(rows: Iterable[tuple[int | None, int | None]]) -> set[int]:
    rows = set(rows)
    people = {user for user, _ in rows if user is not None}
    roles = {role for _, role in rows if role is not None}
    return people.union(*(get_user_model().members_of(role).values_list("pk", flat=True) for role in roles))


def redact_entries(session: Session, entries: Iterable[ContextEntry]) -> list[ContextEntry]:
    """Return the session's entries without current secrets."""
    entries = list(entries)
    if not entries:
        return []
    redactor = redactor_of(session)
    return [redact_entry(entry, redactor) for entry in entries]


def redact_entry(entry: ContextEntry, redactor: Redactor) -> ContextEntry:
    """Return the entry if it was redacted with the same secrets, else a redacted copy. The stored entry never
    changes.
    """
    if entry.masked_with == redactor.version:
        return entry
    redacted = copy(entry)
    redacted.content = redactor.redacted(entry.content)
    redacted.tool_call_id = redactor.redacted(entry.tool_call_id)
    redacted.metadata = redactor.redacted_json(entry.metadata)
    redacted.thinking = _redacted_text(entry.thinking, redactor)
    redacted.images = _redacted_text(entry.images, redactor)
    if call := entry.call:
        cut = {"cut": True} if entry.is_cut else {}
        redacted.tool_call = _json(asdict(redacted_call(ToolCall(**call), redactor)) | cut)
    return redacted


def _redacted_text(text: str, redactor: Redactor) -> str:
    """Redact a JSON text value by value, so that it stays valid JSON."""
    return _json(redactor.redacted_json(json.loads(text))) if text else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
