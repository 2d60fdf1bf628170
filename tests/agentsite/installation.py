"""Rows of every kind, so that each page of the admin has something to show."""

from django.contrib.auth.models import Group
from django.utils import timezone

from agentsite.accounts.models import ApiToken
from agentsite.models import AppliedValue
from llm_app.breaker import changes
from llm_app.models import Blob, BreakerState, Budget, LearnedQuirk, LLMLog, Secret
from llm_app.types import ToolCall
from tasks_app.models import (
    Agent,
    AgentVersion,
    Approval,
    ContextType,
    EngineProcess,
    FileChange,
    InboxMessage,
    LibraryFile,
    Limits,
    Loaded,
    MemoryNote,
    Project,
    PromptSection,
    RoutingRule,
    Task,
    ToolCallLog,
    TraceSink,
    Workflow,
    WorkspaceChange,
)
from tasks_app.record import Draft
from tests import factories
from tools_app.models import AllowedAddress, McpServer, McpTool, RolePolicy, SearchEngine, Skill, SkillFile, ToolSetting


def furnish() -> None:
    """Create the rows that exist only once."""
    Limits.objects.create(pk=1)
    ToolSetting.objects.create(name="shell")
    AppliedValue.objects.remember("file x", "y")
    add_more()


def add_more(number: int = 1) -> Task:
    """Add a row to every list that can grow, and return the task."""
    role = Group.objects.create(name=f"role {number}")
    agent = Agent.objects.create(name=f"agent {number}")
    AgentVersion.objects.current(agent)
    PromptSection.objects.create(agent=agent, section="identity", text="You are a clerk.")
    Workflow.objects.create(name=f"workflow {number}").steps.create(position=1, title="Look", instructions="Look.")
    RolePolicy.objects.create(role=role, deny=["shell"])
    AllowedAddress.objects.create(address=f"10.0.0.{number}")
    SearchEngine.objects.create(name=f"engine-{number}", kind="tavily")
    TraceSink.objects.create(name=f"sink-{number}", kind="file")
    RoutingRule.objects.create(name=f"rule-{number}", pattern="look up", text="Name your sources.")
    member = factories.UserFactory()
    ApiToken.objects.create(user=member)
    Budget.objects.create(user=member, usd_per_day=number)
    Secret.objects.create(name=f"SECRET{number}", value="a secret value", owner=member)
    route = factories.RouteFactory(provider__api_key="sk-stored")
    changes.force(route.provider, BreakerState.OPEN, member)
    LearnedQuirk.objects.create(provider=route.provider, provider_model="m", quirk="stream_usage", value=False)
    model = route.model
    model.roles.add(role)
    EngineProcess.objects.beat(f"host:{number}")
    task: Task = factories.TaskFactory(session__owner=member, session__model=model, state="thinking")
    InboxMessage.objects.create(session=task.session, author=member, mode="queue", content="Later.")
    change = WorkspaceChange.objects.create(session=task.session, task=task, tool="shell", seq=1)
    FileChange.objects.create(change=change, path=f"{number}.txt", after_mode=0o100644, after_sha256="0" * 64)
    server = McpServer.objects.create(name=f"server-{number}", transport="stdio", command=["true"])
    McpTool.objects.create(server=server, name="one", schema="{}", digest="0" * 64)
    SkillFile.objects.create(
        skill=Skill.objects.create(name=f"skill-{number}", description="Does it.", body="Do it."),
        path="a",
        content=b"a",
    )
    Loaded.objects.create(session=task.session, kind="group", name="tracker")
    MemoryNote.objects.create(owner=member, task=task, text="Tea, no coffee.")
    project = Project.objects.create(owner=member, name=f"project {number}")
    LibraryFile.objects.create(project=project, name=f"{number}.txt", size=1, state="failed", problem="It is damaged.")
    _work(task, number)
    return task


def _work(task: Task, number: int) -> None:
    call = ToolCall(id="call_1", name="shell", arguments='{"command": "ls"}')
    factories.append(
        task,
        Draft(context_type=ContextType.USER_MESSAGE, content="Please."),
        Draft(context_type=ContextType.TOOL_CALL, tool_call=call),
    )
    log = ToolCallLog.objects.create(
        task=task, session_id=task.session_id, call_id="call_1", name="shell", fingerprint="f", status="pending"
    )
    Approval.objects.create(
        tool_call=log, fingerprint="f", reason="Deletes.", decided_by=task.started_by, decided_at=timezone.now()
    )
    LLMLog.objects.create(
        task_id=task.id,
        session_id=task.session_id,
        purpose="step",
        model="m",
        provider="p",
        provider_model="x",
        adapter="scripted",
        adapter_version=1,
        system_blob=Blob.store(f"You are {number}."),
        request_sha256="0" * 64,
        request_bytes=1,
        status="succeeded",
    )
