"""Saving secrets, for pages, REST, the admin and programs. A saved value is never shown again.

Earlier copies of a value are redacted: in the record when it is read, in other tables by rewriting the rows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Model, Q, QuerySet

from llm_app import active_secrets
from llm_app.models import LLMLog, Secret
from llm_app.redaction import NAME, Redactor, placeholder, rejection_reason
from tasks_app.memory import edit
from tasks_app.models import Approval, ContextEntry, IdempotencyKey, InboxMessage, Project, Session, Task, ToolCallLog
from tasks_app.models.errors import SecretNameTaken, SecretRefused
from tasks_app.record import lock
from tools_app.contract import registry
from tools_app.models import CachedSearch

# model: (lookup of the session, columns to redact)
_SESSION_COLUMNS: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {
    Session: ("pk", ("title", "summary", "next_steps")),
    Task: ("session", ("plan", "final_result", "failure_detail")),
    InboxMessage: ("session", ("content",)),
    ToolCallLog: ("session_id", ("arguments",)),
    Approval: ("tool_call__session_id", ("reason", "note")),
    LLMLog: ("session_id", ("error",)),
}
_USER_COLUMNS: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {
    CachedSearch: ("user", ("content",)),
    IdempotencyKey: ("user", ("answer",)),
    LogEntry: ("user", ("object_repr", "change_message")),
}
_JSON_COLUMNS = {(ToolCallLog, "arguments"), (LogEntry, "change_message")}  # columns of JSON text


_EXPOSED = "It is redacted there from now on, but models and people may have seen it. Change it at its source."


@dataclass(frozen=True, kw_only=True)
class EntryPosition:
    """An entry of a session."""

    session: UUID
    title: str
    seq: int


@dataclass(frozen=True, kw_only=True)
class SavedSecret:
    """A saved secret. `found` lists entries of the owner's record that already contain the value; they are redacted
    from now on.
    """

    secret: Secret
    found: list[EntryPosition]

    @property
    def sentence(self) -> str:
        if not self.found:
            return f"{self.secret.name} is saved. Its value is never shown again."
        occurrence = "Its value already appears in an entry of the record."
        if (count := len(self.found)) > 1:
            occurrence = f"Its value already appears in {count} entries of the record."
        return f"{self.secret.name} is saved. {occurrence} {_EXPOSED}"


def create(owner: Any, name: str, value: str) -> SavedSecret:
    """Create a secret of a person, or of the team if `owner` is None. Raises SecretRefused or SecretNameTaken."""
    if reason := refusal_of(owner, name, value):
        raise reason
    secret, is_new = Secret.objects.get_or_create(owner=owner, name=name, defaults={"value": value})
    if not is_new:
        raise SecretNameTaken(field="name")
    return after_saving(secret)


def after_saving(secret: Secret) -> SavedSecret:
    """Redact copies of a saved value in other tables, and find the entries that contain it."""
    redactor = Redactor([(secret.name, secret.value)])
    everyone = get_user_model().objects.all()
    if secret.owner is None:
        sessions, people, projects = Session.objects.all(), everyone, Project.objects.all()
    else:
        sessions, people = Session.objects.writable_by(secret.owner), everyone.filter(pk=secret.owner.pk)
        projects = Project.objects.writable_by(secret.owner)
    redact_copies(sessions, people, redactor)
    _redact(Project, Q(pk__in=projects.order_by().values("pk")), ("name", "instructions"), redactor)
    edit.redact(secret.owner, redactor)
    return SavedSecret(secret=secret, found=entries_with(sessions, redactor))


def refusal_of(owner: Any, name: str, value: str) -> SecretRefused | None:
    if not NAME.fullmatch(name):
        return SecretRefused(
            "A name has at most 64 letters, digits, dots, dashes and underscores, and a letter first.", field="name"
        )
    if "\0" in value:
        return SecretRefused("A value cannot contain a NUL character.", field="value")
    reason = rejection_reason(value, _own_texts()) or _why_not_redactable(owner, name, value.strip())
    return SecretRefused(reason, field="value") if reason else None


def _why_not_redactable(owner: Any, name: str, value: str) -> str:
    """Return the reason to refuse a value that is part of a placeholder, whose text is never redacted, or ""."""
    names = [name, *(name for name, _, _ in active_secrets.for_users([owner.pk] if owner else []).secrets)]
    if any(value in placeholder(name) for name in names):
        return "The value is the name of a secret, and names are shown. Choose another name."
    return ""


@cache
def _own_texts() -> str:
    """Return our own texts for models: prompt sections and tool descriptions."""
    folder = settings.BASE_DIR / "templates" / "prompt"
    tools = (f"{tool.name} {tool.description} {tool.parameters}" for tool in registry.all_tools())
    return "\n".join([*(section.read_text() for section in folder.glob("*.xml")), *tools])


def redact_copies(sessions: QuerySet[Session], people: QuerySet[Any], redactor: Redactor) -> None:
    """Redact the tables of these sessions and people.

    First wait for transactions of active tasks. Later ones already know the secret.
    """
    for session in sessions.filter(pk__in=Task.objects.active().values("session")):
        with transaction.atomic():
            lock(session)
    for model, (lookup, fields) in _SESSION_COLUMNS.items():
        _redact(model, Q(**{f"{lookup}__in": sessions.order_by().values("pk")}), fields, redactor)
    for model, (lookup, fields) in _USER_COLUMNS.items():
        _redact(model, Q(**{f"{lookup}__in": people.values("pk")}), fields, redactor)
    _redact(get_user_model(), Q(pk__in=people.values("pk")), ("preferences",), redactor)


def _redact(model: type[Model], condition: Q, fields: tuple[str, ...], redactor: Redactor) -> None:
    """Update only rows and columns that contain a secret."""
    for pk, *values in model._base_manager.filter(condition).values_list("pk", *fields):
        changed = {
            name: redacted
            for name, value in zip(fields, values, strict=True)
            if (redacted := _redacted(model, name, value, redactor)) != value
        }
        if changed:
            model._base_manager.filter(pk=pk).update(**changed)


def _redacted(model: type[Model], name: str, value: Any, redactor: Redactor) -> Any:
    if not isinstance(value, str):
        return redactor.redacted_json(value)
    if (model, name) in _JSON_COLUMNS and value.startswith(("{", "[")):
        data = json.loads(value)
        redacted = redactor.redacted_json(data)
        return value if redacted == data else json.dumps(redacted, ensure_ascii=False)
    max_length = getattr(model._meta.get_field(name), "max_length", None)
    return value if (redacted := redactor.redacted(value)) == value else redacted[:max_length]


def entries_with(sessions: QuerySet[Session], redactor: Redactor) -> list[EntryPosition]:
    """Return the entries that contain the redactor's secrets, newest first."""
    entries = ContextEntry.objects.filter(session__in=sessions.order_by().values("pk")).order_by("-created_at", "-seq")
    rows = entries.values_list(
        "session_id", "session__title", "seq", "content", "thinking", "tool_call", "images", "metadata"
    )
    positions = []
    for session, title, seq, *texts, metadata in rows.iterator(chunk_size=500):
        texts.append(json.dumps(metadata, ensure_ascii=False))
        if any(redactor.redact(text).spans for text in texts if text):
            positions.append(EntryPosition(session=session, title=title, seq=seq))
    return positions
