"""Which folder a session works in, where its programs run, and what they find there."""

import os
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model

from tasks_app.models import Agent, Limits, Session
from tools_app.files import FileHistory, Workspace, workspace_owner
from tools_app.sandbox import Layer, Sandbox, workshop
from tools_app.sandbox.choice import strongest
from tools_app.sandbox.docker import Docker

_TAKEN = ("/workspace", "/tmp", "/proc", "/dev", "/run", "/etc", str(workshop.MOUNT))  # noqa: S108


def workspace_of(session: Session) -> Workspace:
    """Its programs run as the owner of the folder, also of a folder that `run_agent` was given."""
    path, history = session.workspace_path, FileHistory(session.history_path)
    if session.workdir and workspace_owner():
        owner = (path.stat().st_uid, path.stat().st_gid)
        return Workspace(path, owner=owner, home=session.home_path, history=history)
    most = None if session.workdir else Limits.current().workspace_bytes  # a folder that a user chose has no quota
    return Workspace(path, owner=workspace_owner(), most=most, home=session.home_path, history=history)


def sandbox() -> Sandbox:
    """The backend that commands run in. `local` is fallen into only while a single user exists."""
    return strongest(settings.SANDBOX, allow_local=get_user_model().objects.count() <= 1)


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
