"""The folders of a session: workspace, home and mounts of its programs, and their quotas."""

import os
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model

from llm_app.sql import cached_sql, fetch_all
from tasks_app.models import Agent, LibraryFile, Limits, Session
from tasks_app.models.errors import DiskFull, FilesQuotaFull
from tools_app.files import FileHistory, Workspace, bytes_held, workspace_owner
from tools_app.sandbox import Docker, Layer, Sandbox, choose_sandbox, workshop

_RESERVED = ("/workspace", "/tmp", "/proc", "/dev", "/run", "/etc", str(workshop.MOUNT))  # noqa: S108


def workspace_of(session: Session) -> Workspace:
    """Return the session's workspace. Programs run as the owner of the folder, also of `run_agent`'s folder."""
    path, limits = session.workspace_path, Limits.current()
    history = FileHistory(session.history_path, limits.history_bounds)
    root = session.root or session
    remaining = limits.user_bytes - used_bytes(session.owner_id, session.pk, root.pk)
    # A person's own folder has no quota.
    max_bytes = None if root.workdir else min(limits.workspace_bytes, max(0, remaining))
    owner = workspace_owner()
    if root.workdir and owner:
        folder = root.workspace_path.stat()
        owner = folder.st_uid, folder.st_gid
    return Workspace(
        path, owner=owner, max_bytes=max_bytes, home=session.home_path, history=history, views=_views(session)
    )


def files_of(session: Session) -> Workspace:
    """Return the workspace for reading, without the queries for quotas and history."""
    return Workspace(session.workspace_path, views=_views(session))


def _views(session: Session) -> list[Path]:
    """Return the folders of the tasks above a delegated task, its parent's first."""
    return list(session.workspace_path.parents)[1 : 2 * session.depth : 2]


def check_space(session: Session) -> None:
    """Check the free disk space, which running work needs to end cleanly, and the owner's quota.

    Raises DiskFull or FilesQuotaFull.
    """
    if not has_free_disk():
        raise DiskFull()
    if used_bytes(session.owner_id) >= Limits.current().user_bytes:
        raise FilesQuotaFull()


def has_free_disk() -> bool:
    free = os.statvfs(settings.VAR_DIR)
    least: int = settings.LEAST_FREE_DISK
    return free.f_bavail * free.f_frsize >= least


def used_bytes(owner_id: int, *without: UUID) -> int:
    """Return the bytes used by a person's projects and sessions, except the sessions `without`."""
    return (LibraryFile.objects.sum_bytes(owner_id) or 0) + (Session.objects.sum_bytes(owner_id, *without) or 0)


@cached_sql
def _two_users() -> list[int]:
    return fetch_all(get_user_model().objects.order_by().values_list("pk", flat=True)[:2])


def update_usage(session: Session) -> None:
    """Measure the session's files for its owner's quota."""
    if session.workdir:
        return
    folders = [] if session.root_id else [session.workspace_path]  # a delegated task's files count for its root
    used = sum(bytes_held(folder) for folder in (*folders, session.home_path) if folder.exists())
    if used != session.files_bytes:
        Session.objects.filter(pk=session.pk).update(files_bytes=used)
        session.files_bytes = used


def sandbox() -> Sandbox:
    """Return the sandbox for commands. `local` is a fallback only while there is a single user."""
    return choose_sandbox(settings.SANDBOX, allow_local=len(_two_users()) <= 1)


def layers(sandbox: Sandbox, agent: Agent | None) -> tuple[Layer, ...]:
    """Return the agent's existing environments, then the workshop. Earlier layers take precedence.

    The workshop is built for this machine's Python, so Docker images do not get it.
    """
    folders = [Path(folder) for folder in (agent.environments if agent else ())]
    environments = [Layer(folder=folder, mount=folder) for folder in folders if folder.is_dir()]
    workshop_layer = None if sandbox.name == Docker.name else workshop.layer(settings.WORKSHOP, settings.VAR_DIR)
    return (*environments, workshop_layer) if workshop_layer else tuple(environments)


def check_environment(text: str) -> str:
    """Check a folder that an administrator offers to an agent's commands. Raises ValueError with a sentence."""
    folder, real = Path(text), Path(os.path.realpath(text))
    if not folder.is_absolute() or str(folder) != os.path.normpath(text):
        raise ValueError(f"{text!r} is not a whole path, such as /srv/environments/statistics.")
    if not (real / "bin").is_dir():
        raise ValueError(f"{text} is not a folder of this server with a folder bin in it.")
    private = (settings.BASE_DIR, settings.VAR_DIR, Path.home())
    if any(reserved.is_relative_to(real) for reserved in private) or real.is_relative_to(settings.VAR_DIR):
        raise ValueError(f"{text} holds what commands must not see.")
    if any(folder.is_relative_to(reserved) for reserved in _RESERVED) or folder.parent == folder:
        raise ValueError(f"{text} is a place that commands have for something else. Choose another, such as /srv.")
    return text
