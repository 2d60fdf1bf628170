"""Delegation: the agents and rights available to a call that delegates, and the children's results as its result."""

import json
import re
from collections.abc import Iterable, Sequence
from functools import partial

from tasks_app.models import Agent, Session, Task, TaskState
from tasks_app.record import tokens
from tasks_app.run import ChildrenNeeded, TaskContext, children
from tasks_app.run.open_call import OpenCall
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import workspace_of
from tools_app import paging
from tools_app.contract import Delegate, Delegation, ToolDefinition, ToolResult
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.shell import Restrictions
from tools_app.tools import delegate

WHOLE = "result.md"  # in a child's folder: its entire result, if that is too long to show
_FRAME_BYTES = 300  # bytes around a child's text
_LEAST_SHOWN = 300  # bytes of a child's text that are always shown
_CHILD_END = re.compile(r"</(?=\s*child)", re.IGNORECASE)
_STOPPED = "It was stopped with this call."


def sessions_above(session: Session) -> list[Session]:
    """Return the sessions above a delegated one, the root first, with their current settings."""
    if session.root_id is None:
        return []
    names = session.folder.split("/")
    folders = ["/".join(names[:end]) for end in range(2, len(names), 2)]
    sessions = Session.objects.filter(pk=session.root_id) | Session.objects.filter(
        root=session.root_id, folder__in=folders
    )
    return sorted(sessions.select_related("agent", "active_agent"), key=lambda session_above: len(session_above.folder))


def combined_restrictions(restrictions: Restrictions, session: Session, sessions: Iterable[Session]) -> Restrictions:
    """Return a session's restrictions combined with those of the agents above it.

    Their paths also apply in the session's view of their files.
    """
    all_restrictions = [restrictions, *(row.acting_agent.restrictions for row in sessions if row.acting_agent)]
    paths = [path for row in all_restrictions for path in row.paths]
    views = ["/".join(["parent"] * level) for level in range(1, session.depth + 1)]
    paths += [f"{view}/{path.strip('/')}" for view in views for path in paths if "/" in path.strip("/")]
    return Restrictions(paths=paths, commands=[command for row in all_restrictions for command in row.commands])


def helper_tools(agent: Agent | None, user_id: int) -> list[ToolDefinition]:
    """Return the agents that an agent has as tools, if its task's person can use them."""
    helpers = agent.helpers if agent else ()
    rows = Agent.objects.usable_by(user_id).filter(name__in=helpers).order_by("name") if helpers else ()
    return [delegate.agent_tool(row.name, row.description) for row in rows]


def visible_agents(agent: Agent | None, user_id: int) -> tuple[tuple[str, str], ...]:
    """Return the agents to which a model can delegate. The task's person knows nothing of other agents."""
    if agent is None or not agent.delegates:
        return ()
    return tuple(Agent.objects.usable_by(user_id).order_by("name").values_list("name", "description"))


def delegation_of(context: TaskContext, definition: ToolDefinition) -> Delegation:
    """Return the data for a tool that delegates, and an empty object for other tools."""
    policy = context.settings.policy
    if definition.name != delegate.NAME and definition.name not in policy.helpers:
        return Delegation()
    return Delegation(
        agents=frozenset(Agent.objects.usable_by(context.task.started_by_id).values_list("name", flat=True)),
        max_tasks=max(0, context.settings.limits.children - children.count_delegated(context.task)),
        tools=policy.permitted,
    )


def start_children(task: Task, call: OpenCall, effect: Delegate) -> ChildrenNeeded:
    """Return the interrupt that starts the children.

    Folder numbers that exist, in a fork for example, are not used again.
    """
    session = task.session
    folders = Session.objects.filter(root=session.root_id or session.pk).values_list("folder", flat=True)
    prefix = f"{session.folder}/{children.FOLDER}/".lstrip("/")
    numbers = [folder.removeprefix(prefix) for folder in folders if folder.startswith(prefix)]
    workspace = workspace_of(session)
    file_history.record_before(task, workspace)  # changes from here on belong to the call
    if workspace.is_folder(children.FOLDER):
        numbers += [entry.name for entry in workspace.entries(children.FOLDER)]
    first_number = 1 + max((int(name) for name in numbers if name.isdecimal()), default=0)
    return ChildrenNeeded(extra_write=partial(children.start, task, call.log, effect, first_number))


def result_of_children(context: TaskContext, call: OpenCall) -> ToolResult:
    """Return the result of a call whose children have all ended, in the order of its list.

    It fails only if all of them did.
    """
    ended = list(children.of_call(call.log))
    page = context.result_tokens * tokens.BYTES_PER_TOKEN - _FRAME_BYTES
    return ToolResult(
        content=results_text(ended, context.workspace, page),
        status="succeeded" if any(child.state == TaskState.DONE for child in ended) else "failed",
        cut="none",
        summary=f"{sum(child.state == TaskState.DONE for child in ended)} of {len(ended)} done",
        metadata={"children": [str(child.pk) for child in ended]},
    )


def results_text(tasks: Sequence[Task], workspace: Workspace, page: int) -> str:
    """Return the children's results, in equal parts of a page. A longer text is stored in the child's folder."""
    max_bytes = max(_LEAST_SHOWN, page // max(1, len(tasks)) - _FRAME_BYTES)
    return "\n".join(_child_text(child, workspace, max_bytes) for child in tasks)


def _child_text(child: Task, workspace: Workspace, max_bytes: int) -> str:
    folder = f"{children.FOLDER}/{child.number}"
    if child.state == TaskState.DONE:
        text = _first_page(_result_text(child, folder), workspace, folder, max_bytes)
    elif child.is_active:
        text = _STOPPED
    else:
        text = f"{child.failure_code}: {child.failure_detail}"
    state = child.state if not child.is_active else "stopped"
    text = _CHILD_END.sub("<\\/", text)
    return f'<child number="{child.number}" state="{state}" folder="{folder}/">\n{text}\n</child>'


def _result_text(child: Task, folder: str) -> str:
    result = child.final_result or {}
    parts = [result.get("text", "")]
    if result.get("data") is not None:
        parts.append(f"Data: {json.dumps(result['data'], ensure_ascii=False)}")
    if files := result.get("attachments"):
        parts.append(f"Files: {', '.join(f'{folder}/{path}' for path in files)}")
    return "\n".join(parts)


def _first_page(text: str, workspace: Workspace, folder: str, max_bytes: int) -> str:
    """Return the text, or its first lines and the call that reads on."""
    if paging.size(text) <= max_bytes:
        return text
    end, path = paging.end_of_page(text, 0, max_bytes), f"{folder}/{WHOLE}"
    try:
        workspace.write_bytes(path, text.encode(errors="replace"))
    except ToolError as error:
        return f"{text[:end]}\n[… the rest could not be kept: {error}]"
    line = text.count("\n", 0, end) + 1
    skip = end - text.rfind("\n", 0, end) - 1
    return f"{text[:end]}\n[… {paging.next_call('file', action='read', path=path, offset=line, skip=skip or None)}]"
