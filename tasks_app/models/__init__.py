"""The rows of sessions and tasks, and of all that happened in them."""

from tasks_app.models.agent import Agent, PromptSection, Workflow, WorkflowStep
from tasks_app.models.approval import Approval
from tasks_app.models.context_cut import ContextCut
from tasks_app.models.entry import ContextEntry, ContextType
from tasks_app.models.inbox import InboxMessage
from tasks_app.models.memory_note import MemoryNote, NoteVector
from tasks_app.models.operations import EngineProcess, IdempotencyKey, Limits
from tasks_app.models.session import Session, SessionMember
from tasks_app.models.task import Task, TaskState
from tasks_app.models.tool_call import FileVersion, Loaded, LoadedKind, ToolCallLog

__all__ = [
    "Agent",
    "Approval",
    "ContextCut",
    "ContextEntry",
    "ContextType",
    "EngineProcess",
    "FileVersion",
    "IdempotencyKey",
    "InboxMessage",
    "Limits",
    "Loaded",
    "LoadedKind",
    "MemoryNote",
    "NoteVector",
    "PromptSection",
    "Session",
    "SessionMember",
    "Task",
    "TaskState",
    "ToolCallLog",
    "Workflow",
    "WorkflowStep",
]
