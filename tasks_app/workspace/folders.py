"""Which folder a session works in, where its programs run, and what they find there."""

import os
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet, Sum, Value

from llm_app.sql.composed_query import Select
from tasks_app.models import Agent, LibraryFile, Limits, Session
from tasks_app.models.errors import DiskFull, FilesQuotaFull
from tools_app.files import FileHistory, Owner, Workspace, workspace_owner
from tools_app.files.quota import bytes_held
from tools_app.sandbox import Layer, Sandbox, workshop
from tools_app.sandbox.choice import strongest
from tools_app.sandbox.docker import Docker

_TAKEN = ("/workspace", "/tmp", "/proc", "/dev", "/run", "/etc", str(workshop.MOUNT))  # noqa: S108


def workspace_of(session: Session) -> Workspace:
    """Its programs run as the owner of the folder, also of a folder that `run_agent` was given."""
    path, limits = session.workspace_path, Limits.current()
    history = FileHistory(session.history_path, limits.history_bounds)
    root = session.root or session
    left = limits.user_bytes - bytes_of(session.owner_id, session.pk, root.pk)
    most = None if root.workdir else min(limits.workspace_bytes, max(0, left))  # a folder of their own has no quota
    owner = _owner_of(root.workspace_path) if root.workdir and workspace_owner() else workspace_owner()
    return Workspace(path, owner=owner, most=most, home=session.home_path, history=history, views=_views(session))


def files_of(session: Session) -> Workspace:
    """The same folder to look at, without what is asked of the database for who writes in it."""
    return Workspace(session.workspace_path, views=_views(session))


def _owner_of(folder: Path) -> Owner:
    return folder.stat().st_uid, folder.stat().st_gid


def _views(session: Session) -> list[Path]:
    """The folders of those that a delegated task comes from, its parent's first."""
    return list(session.workspace_path.parents)[1 : 2 * session.depth : 2]


def require_disk(session: Session) -> None:
    """Raises DiskFull where less than the floor is free, which what runs needs to end well; and FilesQuotaFull."""
    if not has_disk():
        raise DiskFull()
    if bytes_of(session.owner_id) >= Limits.current().user_bytes:
        raise FilesQuotaFull()


def has_disk() -> bool:
    free = os.statvfs(settings.VAR_DIR)
    least: int = settings.LEAST_FREE_DISK
    return free.f_bavail * free.f_frsize >= least


def bytes_of(owner_id: int, *without: UUID) -> int:
    """What the files of a person's sessions and projects take up; those of sessions `without` which it is asked."""
    found = (*_of_libraries.rows(owner_id), *_of_sessions.rows(owner_id, *without))
    return sum(size or 0 for (size,) in found)


def _sum(rows: QuerySet[Any], field: str) -> QuerySet[Any, Any]:
    found: QuerySet[Any, Any] = rows.order_by().values_list(Value(1)).annotate(all=Sum(field)).values_list("all")
    return found


_two_users = Select(lambda: get_user_model().objects.order_by().values_list("pk")[:2])
_of_libraries = Select(lambda owner: _sum(LibraryFile.objects.filter(project__owner=owner), "size"))
_of_sessions = Select(
    lambda owner, *without: _sum(Session.objects.filter(owner=owner).exclude(pk__in=without), "files_bytes")
)


def measure(session: Session) -> None:
    """Counts what its files take up towards its owner's quota."""
    if session.workdir:
        return
    own = [] if session.root_id else [session.workspace_path]  # of a delegated task, they are among those of its root
    used = sum(bytes_held(folder) for folder in (*own, session.home_path) if folder.exists())
    if used != session.files_bytes:
        Session.objects.filter(pk=session.pk).update(files_bytes=used)
        session.files_bytes = used


def sandbox() -> Sandbox:
    """The backend that commands run in. `local` is fallen into only while a single user exists."""
    return strongest(settings.SANDBOX, allow_local=len(_two_users.rows()) <= 1)


def layers(sandbox: Sandbox, agent: Agent | None) -> tuple[Layer, ...]:
    """The agent's own environments that exist, then the workshop: what the first has hides what the others have.

    The workshop is made for this machine's Python, and not for that of a Docker image.
    """
    folders = [Path(folder) for folder in (agent.environments if agent else ())]
    own = [Layer(folder=folder, mount=folder) for folder in folders if folder.is_dir()]
    found = None if sandbox.name == Docker.name else workshop.layer(settings.WORKSHOP, settings.VAR_DIR)
    return (*own, found) if found else tuple(own)


def check_environment(text: str) -> str:
    """A folder that an administrator names for an agent's commands. Raises ValueError with a sentence."""
    folder, real = Path(text), Path(os.path.realpath(text))
    if not folder.is_absolute() or str(folder) != os.path.normpath(text):
        raise ValueError(f"{text!r} is not a whole path, such as /srv/environments/statistics.")
    if not (real / "bin").is_dir():
        raise ValueError(f"{text} is not a folder of this server with a folder bin in it.")
    private = (settings.BASE_DIR, settings.VAR_DIR, Path.home())
    if any(place.is_relative_to(real) for place in private) or real.is_relative_to(settings.VAR_DIR):
        raise ValueError(f"{text} holds what commands must not see.")
    if any(folder.is_relative_to(place) for place in _TAKEN) or folder.parent == folder:
        raise ValueError(f"{text} is a place that commands have for something else. Choose another, such as /srv.")
    return text
