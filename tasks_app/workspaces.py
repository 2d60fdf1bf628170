"""Which folder a session works in, and where its programs run."""

from django.conf import settings
from django.contrib.auth import get_user_model

from tasks_app.models import Limits, Session
from tools_app.files import Workspace, workspace_owner
from tools_app.sandbox import Sandbox
from tools_app.sandbox.choice import strongest


def workspace_of(session: Session) -> Workspace:
    """Its programs run as the owner of the folder, also of a folder that `run_agent` was given."""
    path = session.workspace_path
    if session.workdir and workspace_owner():
        return Workspace(path, owner=(path.stat().st_uid, path.stat().st_gid))
    most = None if session.workdir else Limits.current().workspace_bytes  # a folder that a user chose has no quota
    return Workspace(path, owner=workspace_owner(), most=most)


def sandbox() -> Sandbox:
    """The backend that commands run in. `local` is fallen into only while a single user exists."""
    return strongest(settings.SANDBOX, allow_local=get_user_model().objects.count() <= 1)
