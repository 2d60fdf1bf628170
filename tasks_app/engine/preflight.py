"""The work before each iteration: people's stops and messages first, then settings and limits, then due reminders."""

import re
from collections.abc import Sequence
from contextlib import suppress

from django.utils import timezone

from tasks_app.engine import routing, step_settings, workflow
from tasks_app.engine.closing import close_open_call
from tasks_app.memory import search
from tasks_app.models import (
    CallStatus,
    ContextEntry,
    ContextType,
    Decision,
    FailureCode,
    Mode,
    Task,
    TaskState,
    WorkspaceChange,
)
from tasks_app.record import Draft, tokens
from tasks_app.run import LimitExceeded, Stopped, TaskContext, children, reminders
from tasks_app.run.open_call import OpenCall
from tasks_app.run.reminders.before_step import StepState, due
from tasks_app.run.reminders.on_event import (
    INSTRUCTION_FILES,
    LONGEST_INSTRUCTIONS,
    InstructionFile,
    instructed_folder,
)
from tasks_app.run.snapshot import TaskSnapshot
from tasks_app.runtime import process
from tasks_app.runtime.cancellation import WorkAborted
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import layers
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.notes import Passage
from tools_app.sandbox import ShellCommand, git_summary

MOST_INSTRUCTIONS = 8  # files of instructions per task
_REPOSITORY = ".git"
MOST_REPOSITORIES = 2  # in folders of the workspace
MOST_WORDS = 50  # of a command, examined as paths
_WORD = re.compile(r"[\w./@+~-]+")
_PLAIN_PATH = re.compile(r"[\w./@+~ -]{1,200}")  # cannot close the tags of a reminder
TERMINAL_GONE = "The terminal that ran this task has ended."


def check(context: TaskContext) -> None:
    """Append messages and due reminders, and read limits, budgets and the policy again.

    Raises: Stopped, LimitExceeded.
    """
    snapshot = _snapshot_unless_stopped(context)
    if context.task.state == TaskState.INITIALIZING:
        _begin_task(context, snapshot)
        snapshot = _snapshot_unless_stopped(context)  # `_begin_task` may call a model, which a person may interrupt
    is_interjected = snapshot.message == Mode.INTERJECT
    if is_interjected or (snapshot.message and not _runs_without_a_person(context.history.open_call())):
        _append_messages(context)
    _report_changes_by_people(context)
    if context.history.open_call() is None:
        context.report_ended_jobs()
    step_settings.refresh_all(context, snapshot)
    _check_limits(context)
    if notes := _relevant_notes(context):
        context.commit(reminders.recalled(notes))
    _remind(context)


def _snapshot_unless_stopped(context: TaskContext) -> TaskSnapshot:
    """Return the snapshot for this iteration.

    Raises: Stopped if a person wants that.
    """
    snapshot = context.snapshot(fresh=False)
    if not snapshot.stop_requested:
        return snapshot
    if process.is_dead(context.task.terminal):
        raise Stopped(TERMINAL_GONE, *close_open_call(context, context.workspace, TERMINAL_GONE))
    raise Stopped("Stopped.", *close_open_call(context, context.workspace, "Stopped by the user."))


def _runs_without_a_person(call: OpenCall | None) -> bool:
    """Return whether an open call is about to run, or has delegated. A steering message then comes after its result."""
    if call is None:
        return False
    if call.log.status == CallStatus.WAITING:
        return children.of_call(call.log).exists()
    approval = getattr(call.log, "approval", None)
    return approval is None or approval.decision == Decision.APPROVED


def _append_messages(context: TaskContext) -> None:
    """Append the messages that people wrote, in place of the result of an open call."""
    if closing := close_open_call(context, context.workspace, "Not run: the user wrote a message instead."):
        context.commit(*closing, state=TaskState.THINKING)
    if context.append_messages(*reminders.interruption(context.history.entries, has_closed=bool(closing))):
        context.detector.forget()


def _begin_task(context: TaskContext, snapshot: TaskSnapshot) -> None:
    """Append the date and the listing of the workspace, right after the message that starts the task."""
    step_settings.refresh_with_skills(context, snapshot)
    context.workspace.prepare_for_commands()  # so that a child's listing shows its parent's files
    found = context.workspace.present("", (*INSTRUCTION_FILES, _REPOSITORY))
    instructions = _first_instructions(context, "", [name for name in found if name != _REPOSITORY])
    notes = _relevant_notes(context, instructions)
    now = timezone.now() if context.is_shared else context.task.started_by.now()  # readers must not learn the time zone
    longest = _longest_instructions(context.settings.window)
    overview = context.workspace.overview()
    git = _git_lines(context, [""] if _REPOSITORY in found else _folders_with_git(overview.paths))
    start = reminders.task_start(
        now, overview.text, instructions, notes, longest, git=git, library=_library_line(context)
    )
    delegation = [reminders.delegated()] if context.task.parent_call_id else []
    first_step, plan = workflow.first_step(context.task)
    shown_before = Task.objects.shown_tools_before(context.session.pk, context.task.pk)
    hints = routing.reminder_for(context, search.new_messages(context.history.entries), overview.paths)
    context.commit(
        start,
        *delegation,
        *first_step,
        *hints,
        state=TaskState.THINKING,
        shown_tools=shown_before or [],
        reminded={instructions.path: 0} if instructions else {},
        agent_version_id=context.agent_version_id,
        **plan,
    )


def _library_line(context: TaskContext) -> str:
    """Return where the files of the project's library are, or "" without any."""
    workspace = context.workspace
    if workspace.library:
        find = ", and `library` finds passages to cite" if context.settings.has_library else ""
        return f"`library/` has the files of the project's library: you can only read them{find}."
    if workspace.shared_library:
        return (
            "The files of the project's library are not in `library/`, because the workspace has its own there: find "
            "passages with the tool `library`."
        )
    return ""


def _folders_with_git(paths: Sequence[str]) -> list[str]:
    """Return the first folders of the workspace that hold a repository or a worktree."""
    folders = [path.rstrip("/").removesuffix(f"/{_REPOSITORY}") for path in paths]
    return [folder for folder, path in zip(folders, paths, strict=True) if folder != path.rstrip("/")][
        :MOST_REPOSITORIES
    ]


def _git_lines(context: TaskContext, folders: Sequence[str]) -> str:
    """Return the state of each folder's git repository in three lines, or "" if there is none or no `shell`.

    Git runs in a separate sandbox, as commands do.
    """
    workspace = context.workspace
    if "shell" not in context.visible.names or not folders:
        return ""
    command = ShellCommand(
        text="",
        workspace=workspace.root,
        views=workspace.views,
        owner=workspace.owner,
        layers=layers(context.sandbox, context.settings.agent),
        mask=context.settings.policy.restrictions.mask(workspace),
        time_zone=context.time_zone,
    )
    summaries = []
    for folder in folders:
        try:
            work = git_summary(context.sandbox, command, folder, process.record_group)
            summaries.append(context.interruption.run(work))
        except WorkAborted:  # the next snapshot says why
            break
    return context.secrets.redactor.redacted("\n".join(str(summary) for summary in summaries if summary))


def _share_of_window(window: int) -> int:
    """Return how many bytes of the window one addition to the conversation can take."""
    return window // 8 * tokens.BYTES_PER_TOKEN


def _longest_instructions(window: int) -> int:
    """Return how many characters of one file of instructions are shown."""
    return min(LONGEST_INSTRUCTIONS, _share_of_window(window))


def _relevant_notes(context: TaskContext, instructions: InstructionFile | None = None) -> str:
    """Return notes that may be useful for new messages, or ''. `instructions` are those of a task's start."""
    message_text, run = search.new_messages(context.history.entries), context.interruption
    if not message_text:
        return ""
    longest = _longest_instructions(context.settings.window)
    unread = Passage(path=instructions.path, text=instructions.text[longest:]) if instructions else None
    return search.recall(
        context, context.workspace, message_text, unread, run, _share_of_window(context.settings.window)
    )


def _report_changes_by_people(context: TaskContext) -> None:
    """Append reminders of files that people restored or deleted, but not within a call.

    The database is queried only if the file history has changed.
    """
    mark = file_history.history_of(context.workspace).unreported_mark()
    if mark == context.untold_mark or context.history.open_call() is not None:
        return
    context.untold_mark = mark
    undone, deleted, pks = set[str](), set[str](), set[int]()
    for pk, path, tool in WorkspaceChange.objects.untold_in(context.session.pk):
        pks.add(pk)
        if path:
            (undone if tool == WorkspaceChange.UNDO else deleted).add(path)
    drafts = [reminders.undone(sorted(undone))] if undone else []
    drafts += [reminders.deleted(sorted(deleted))] if deleted else []
    if drafts:
        context.commit(*drafts, extra_write=lambda: WorkspaceChange.objects.filter(pk__in=pks).update(told=True))


def _check_limits(context: TaskContext) -> None:
    """Check the number of iterations, and the deadline, which only delegated tasks have.

    Raises: LimitExceeded, but not between a call and its result.
    """
    deadline, max_iterations = context.task.deadline, context.max_iterations
    if context.task.iteration >= max_iterations and context.history.open_call() is None:
        raise LimitExceeded(
            FailureCode.MAX_ITERATIONS,
            f"The task used all of its {max_iterations} iterations. Write “go on” to continue, or ask for less at a "
            "time.",
        )
    if deadline is not None and timezone.now() > deadline and context.history.open_call() is None:
        raise LimitExceeded(FailureCode.TIME_LIMIT, "The time that was given to this task is over. Give it less to do.")


def _remind(context: TaskContext) -> None:
    """Append the due reminders in one commit, but not between a call and its result."""
    if context.history.open_call() is not None:
        return
    task, visible = context.task, context.visible
    tools = visible.independent
    state = StepState(
        task=task,
        limits=context.settings.limits,
        entries=context.history.entries,
        newest=context.history.newest,
        tools=tools,
        permitted=context.settings.policy.permitted,
        groups=context.settings.policy.tools_by_group,
        repeatable=visible.repeatable,
        limit_states=context.allowance.limit_states,
        has_made_all_calls=context.has_made_all_calls,
        max_iterations=context.max_iterations,
        project=context.settings.project,
        longest=_longest_instructions(context.settings.window),
    )
    if drafts := [*_folder_instructions(context), *due(state)]:
        times = {draft.metadata.get("path") or draft.metadata.get("kind", "step"): task.iteration for draft in drafts}
        context.commit(*drafts, reminded=task.reminded | times, shown_tools=tools)
    elif tools != task.shown_tools:
        context.stage(shown_tools=tools)


def _folder_instructions(context: TaskContext) -> list[Draft]:
    """Return reminders of the instructions in folders where the newest call worked, each once a task.

    Files that the call names itself are left out.
    """
    drafts: list[Draft] = []
    folders, named_paths = _folders_of_call(context.history.entries, context.workspace)
    if not folders:
        return drafts
    longest = _longest_instructions(context.settings.window)
    given_folders = {folder for path in context.task.reminded if (folder := instructed_folder(path)) is not None}
    for folder in folders:
        if folder not in given_folders and len(given_folders) + len(drafts) < MOST_INSTRUCTIONS:
            found = context.workspace.present(folder, INSTRUCTION_FILES)  # one look, as most folders have none
            instructions = _first_instructions(context, folder, found)
            if instructions and instructions.path not in named_paths:
                drafts.append(reminders.folder_instructions(instructions, longest))
    return drafts


def _first_instructions(context: TaskContext, folder: str, names: Sequence[str]) -> InstructionFile | None:
    """Return the first of these files in a folder of the workspace that has text, or None."""
    for name in names:
        path = f"{folder}/{name}" if folder else name
        if (text := search.text_file(context.workspace, path, context.secrets.redactor)).strip():
            return InstructionFile(path=path, text=text)
    return None


def _folders_of_call(entries: Sequence[ContextEntry], workspace: Workspace) -> tuple[list[str], set[str]]:
    """Return the possible folders of the paths that the newest call names, outermost first, and these paths."""
    newest = next((entry for entry in reversed(entries) if entry.context_type != ContextType.SYSTEM_REMINDER), None)
    if newest is None or newest.context_type != ContextType.TOOL_RESULT:
        return [], set()
    call = next(entry for entry in reversed(entries) if entry.has_call)
    if "path" not in call.tool_call and "command" not in call.tool_call:  # saves parsing most calls
        return [], set()
    arguments = call.arguments
    if not isinstance(arguments, dict) or arguments.keys().isdisjoint(("path", "paths", "command")):
        return [], set()
    several = arguments.get("paths")
    named = [str(arguments.get("path") or ""), *_WORD.findall(str(arguments.get("command") or ""))[:MOST_WORDS]]
    named += map(str, several[:MOST_WORDS]) if isinstance(several, list) else []
    folders: dict[str, None] = {}
    named_paths = set[str]()
    for path in filter(_PLAIN_PATH.fullmatch, named):
        with suppress(ToolError):
            names = workspace.parts(path)
            named_paths.add("/".join(names))
            for depth in range(len(names) + 1):
                folders["/".join(names[:depth])] = None
    return list(folders), named_paths
