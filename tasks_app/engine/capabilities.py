"""What a tool may use in a session: wired here, so that tools know nothing of sessions."""

from functools import partial

from django.conf import settings
from django.contrib.auth import get_user_model

from llm_app.redaction.placeholder import names_in, placeholder
from tasks_app.engine import process
from tasks_app.engine.asking import ModelForTools
from tasks_app.engine.checks import ClearedCall
from tasks_app.engine.live_stream import LiveStream
from tasks_app.engine.mcp_targets import McpTargets
from tasks_app.engine.recalling import StoredResults
from tasks_app.engine.remembering import StoredMemory
from tasks_app.engine.searching import StoredSearches
from tasks_app.engine.skills import StoredSkills
from tasks_app.engine.task_context import TaskContext
from tasks_app.models import Limits, Session
from tools_app.base import Target, ToolContext, ToolDefinition
from tools_app.effects import PlanStep
from tools_app.models import AllowedAddress
from tools_app.network import NetworkPolicy
from tools_app.sandbox.base import Sandbox
from tools_app.sandbox.choice import strongest
from tools_app.sandbox.owner import workspace_owner
from tools_app.web_page.reader_service import ReaderService
from tools_app.workspace import Workspace


def workspace_of(session: Session) -> Workspace:
    """Its programs run as the owner of the folder: for a folder that `run_agent` was given, whoever that is."""
    path = session.workspace_path
    if session.workdir and workspace_owner():
        return Workspace(path, owner=(path.stat().st_uid, path.stat().st_gid))
    most = None if session.workdir else Limits.current().workspace_bytes  # a folder that somebody named is theirs
    return Workspace(path, owner=workspace_owner(), most=most)


def sandbox() -> Sandbox:
    """The backend that commands run in. `local` is fallen into only while a single user exists."""
    return strongest(settings.SANDBOX, allow_local=get_user_model().objects.count() <= 1)


def tool_context(context: TaskContext, cleared: ClearedCall, stream: LiveStream) -> ToolContext:
    report = _unheard if context.filters_output else partial(stream.feed, "tool_output")
    models = ModelForTools(context, report)
    return ToolContext(
        session=str(context.session.pk),
        workspace=context.workspace,
        sandbox=context.sandbox,
        network=_network(context, cleared.definition),
        plan=[PlanStep(**step) for step in context.task.plan],
        groups=context.policy.on_demand,
        output_schema=context.task.output_schema,
        ask_model=models.ask,
        make_media=models.make,
        secrets=_secrets(context, cleared) if cleared.definition.takes_secrets else {},
        searches=StoredSearches(context.task.started_by_id),
        stored_result=StoredResults(context),
        reader=ReaderService(**settings.READER_SERVICE) if settings.READER_SERVICE else None,
        mcp_target=McpTargets(context).target,
        skills=StoredSkills(context),
        memory=StoredMemory(context),
        report=report,
        started=process.remember,
    )


def _network(context: TaskContext, definition: ToolDefinition) -> NetworkPolicy:
    """Where the tool may go: programs to the hosts that are named for them, others to all that is public."""
    only = context.policy.hosts(definition.name) if definition.target is Target.SANDBOX else None
    goes_out = bool(only) or definition.target in (Target.NETWORK, Target.BROWSER)
    return NetworkPolicy(only=only, allow_internal=_allowed_addresses() if goes_out else frozenset())


def _unheard(text: str) -> None:
    """While hooks look at a result before anyone else does, nothing of it is shown while it comes."""


def _secrets(context: TaskContext, cleared: ClearedCall) -> dict[str, str]:
    """Values by placeholder: of those in the arguments that the task's person may use, and no others."""
    usable = context.secrets.in_force.usable_by(context.task.started_by_id)
    named = names_in(cleared.arguments.model_dump(mode="json"))
    return {placeholder(name): value for name, value in usable.items() if name in named}


def _allowed_addresses() -> frozenset[str]:
    return frozenset(AllowedAddress.objects.values_list("address", flat=True))
