"""The models of sessions and tasks, and of their record, files, approvals and settings."""

from tasks_app.models.agent import Agent, AgentPicture, PromptSection
from tasks_app.models.agent_version import AgentVersion
from tasks_app.models.entry import Cause, ContextCut, ContextEntry, ContextType
from tasks_app.models.filing import Filing, ImpossibleSearch, SessionSearch, file_session, format_tags, with_filing
from tasks_app.models.inbox import IdempotencyKey, InboxMessage, Mode
from tasks_app.models.library import LibraryFile, LibraryFolder, LibraryPassage, PassageVector
from tasks_app.models.memory_note import MemoryNote, MemoryNoteQuerySet, NoteVector
from tasks_app.models.operations import ALIVE_SECONDS, EngineProcess, Limits, Sample
from tasks_app.models.project import Project, ProjectMember
from tasks_app.models.routing_rule import FiredRule, RoutingRule, RuleMatch, RuleTarget
from tasks_app.models.session import Session, SessionText
from tasks_app.models.sharing import SessionMember, ShareLink
from tasks_app.models.task import Task
from tasks_app.models.task_state import ENDED, PERSON_WAITS, FailureCode, TaskState, WaitingFor
from tasks_app.models.tool_call import (
    REFUSED,
    Approval,
    ApprovalScope,
    CallStatus,
    Decision,
    Loaded,
    LoadedKind,
    ToolCallLog,
)
from tasks_app.models.trace_sink import EventType, SinkKind, TraceSink
from tasks_app.models.workflow import Workflow, WorkflowStep
from tasks_app.models.workspace_change import FileChange, WorkspaceChange

__all__ = [
    "ALIVE_SECONDS",
    "ENDED",
    "PERSON_WAITS",
    "REFUSED",
    "Agent",
    "AgentPicture",
    "AgentVersion",
    "Approval",
    "ApprovalScope",
    "CallStatus",
    "Cause",
    "ContextCut",
    "ContextEntry",
    "ContextType",
    "Decision",
    "EngineProcess",
    "EventType",
    "FailureCode",
    "FileChange",
    "Filing",
    "FiredRule",
    "IdempotencyKey",
    "ImpossibleSearch",
    "InboxMessage",
    "LibraryFile",
    "LibraryFolder",
    "LibraryPassage",
    "Limits",
    "Loaded",
    "LoadedKind",
    "MemoryNote",
    "MemoryNoteQuerySet",
    "Mode",
    "NoteVector",
    "PassageVector",
    "Project",
    "ProjectMember",
    "PromptSection",
    "RoutingRule",
    "RuleMatch",
    "RuleTarget",
    "Sample",
    "Session",
    "SessionMember",
    "SessionSearch",
    "SessionText",
    "ShareLink",
    "SinkKind",
    "Task",
    "TaskState",
    "ToolCallLog",
    "TraceSink",
    "WaitingFor",
    "Workflow",
    "WorkflowStep",
    "WorkspaceChange",
    "file_session",
    "format_tags",
    "with_filing",
]
