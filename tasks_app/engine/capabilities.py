"""What a tool may use in a session: wired here, so that tools know nothing of sessions."""

from functools import partial

from django.conf import settings
from django.contrib.auth import get_user_model

from tasks_app.engine import process
from tasks_app.engine.asking import ModelForTools
from tasks_app.engine.live_stream import LiveStream
from tasks_app.engine.searching import StoredSearches
from tasks_app.engine.task_context import TaskContext
from tasks_app.models import Session
from tools_app.base import Target, ToolContext, ToolDefinition
from tools_app.effects import PlanStep
from tools_app.models import AllowedAddress
from tools_app.network import NetworkPolicy
from tools_app.sandbox.base import Sandbox
from tools_app.sandbox.choice import strongest
from tools_app.sandbox.owner import workspace_owner
from tools_app.workspace import Workspace


def workspace_of(session: Session) -> Workspace:
    """Its programs run as the owner of the folder: for a folder that `run_agent` was given, whoever that is."""
    path = session.workspace_path
    if session.workdir and workspace_owner():
        return Workspace(path, owner=(path.stat().st_uid, path.stat().st_gid))
    return Workspace(path, owner=workspace_owner())


def sandbox() -> Sandbox:
    """The backend that commands run in. `local` is fallen into only while a single user exists."""
    return strongest(settings.SANDBOX, allow_local=get_user_model().objects.count() <= 1)


def tool_context(context: TaskContext, definition: ToolDefinition, stream: LiveStream) -> ToolContext:
    needs_network = definition.target in (Target.NETWORK, Target.BROWSER)
    report = partial(stream.feed, "tool_output")
    return ToolContext(
        session=str(context.session.pk),
        workspace=context.workspace,
        sandbox=context.sandbox,
        network=NetworkPolicy(allow_internal=_allowed_addresses() if needs_network else frozenset()),
        plan=[PlanStep(**step) for step in context.task.plan],
        ask_model=ModelForTools(context, report).ask,
        searches=StoredSearches(context.task.started_by_id),
        report=report,
        started=process.remember,
    )


def _allowed_addresses() -> frozenset[str]:
    return frozenset(AllowedAddress.objects.values_list("address", flat=True))
