"""The rows of sessions and tasks, and of all that happened in them."""

from tasks_app.models.agent import Agent
from tasks_app.models.approval import Approval
from tasks_app.models.context_cut import ContextCut
from tasks_app.models.engine_process import EngineProcess
from tasks_app.models.entry import ContextEntry, ContextType
from tasks_app.models.file_version import FileVersion
from tasks_app.models.idempotency import IdempotencyKey
from tasks_app.models.inbox import InboxMessage
from tasks_app.models.loaded import Loaded, LoadedKind
from tasks_app.models.memory_note import MemoryNote
from tasks_app.models.note_vector import NoteVector
from tasks_app.models.operations import Limits
from tasks_app.models.prompt_section import PromptSection
from tasks_app.models.session import Session, SessionMember
from tasks_app.models.task import Task, TaskState
from tasks_app.models.tool_call import ToolCallLog
from tasks_app.models.workflow import Workflow, WorkflowStep

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
