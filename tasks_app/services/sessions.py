"""Sessions: create, change and delete them. Each verb is one short transaction."""

import shutil
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from llm_app import active_secrets
from tasks_app.errors import SessionsQuotaFull, TaskRunning
from tasks_app.models import Agent, Limits, Session
from tasks_app.record import lock, redactor_of
from tasks_app.run import affinity


def create_session(owner: Any, *, title: str = "", **fields: Any) -> Session:
    """`fields`: model, agent, denied_tools, off_record, workdir.

    Where no agent is named, it is the default one, if there is one. Raises SessionsQuotaFull.
    """
    require_place(owner)
    title = active_secrets.of_people([owner.pk]).redactor.redacted(title)[:200]
    return Session.objects.create(owner=owner, title=title, **{"agent": Agent.objects.default(), **fields})


def require_place(owner: Any) -> None:
    """Raises SessionsQuotaFull."""
    if Session.objects.filter(owner=owner).count() >= Limits.current().user_sessions:
        raise SessionsQuotaFull()


def change_session(session: Session, **fields: Any) -> None:
    """Sets `title`, `model`, `agent` or `denied_tools`, and no other column: those belong to appends.

    An agent that a person chooses acts at once, whoever the conversation was handed on to.
    """
    if "agent" in fields:
        fields["active_agent"] = None
    if "title" in fields:
        fields["title"] = redactor_of(session).redacted(fields["title"])[:200]
    Session.objects.filter(pk=session.pk).update(**fields, updated_at=timezone.now())


def delete_session(session: Session) -> None:
    """Deletes a session with its record and, after the commit, its files and their history. Raises TaskRunning."""
    folder, history = session.workspace_path, session.history_path
    home = session.home_path
    with transaction.atomic():
        lock(session)
        if session.tasks.active().exists():
            raise TaskRunning()
        transaction.on_commit(partial(affinity.release, str(session.pk)), robust=True)
        session.delete()
        if folder.exists() and not session.workdir:  # a folder that somebody named is theirs
            transaction.on_commit(partial(shutil.rmtree, folder), robust=True)
        for beside in (history, home):
            transaction.on_commit(partial(shutil.rmtree, beside, ignore_errors=True), robust=True)
