"""Template tags and filters of the pages: icons, links, rendered Markdown, status badges, and approval rights."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from django import template
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from tasks_app.models import Approval, CallStatus, ContextCut, Session, Task, TaskState, WaitingFor
from tasks_app.pages import changes, choices, markdown
from tasks_app.pages.context import Gauge, gauge_of
from tasks_app.pages.sessions import sidebar_groups, sidebar_projects
from tasks_app.record import delegated
from tasks_app.record.item import Item
from tasks_app.run import decisions
from tasks_app.run.next_task import count_waiting_for
from tasks_app.templatetags import entries

register = template.Library()
register.simple_tag(entries.icon)
register.simple_tag(entries.prose)
register.simple_tag(delegated.delegating_session, name="origin_of")
register.simple_tag(choices.usable_agents, name="usable_agents")
register.simple_tag(changes.proposed_change, name="proposed_change")
_PATCH_FILES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")  # headers of a patch in an envelope
_PATCH_FRAME = ("*** Begin Patch", "*** End Patch", "diff --git ", "index ", "new file mode ", "deleted file mode ")
# Unicode categories of invisible characters (bidi controls, zero widths, separators …), and invisible letters.
_HIDDEN_CATEGORIES, _BLANK_LETTERS = ("Cc", "Cf", "Co", "Zl", "Zp"), "\u034f\u115f\u1160\u2800\u3164\uffa0"


Tone = Literal["calm", "busy", "asks", "good", "bad"]


@dataclass(frozen=True)
class Badge:
    words: str | Promise
    icon: str
    tone: Tone


CALL_BADGES = {
    CallStatus.PENDING: Badge(_("Waiting"), "clock", "calm"),
    CallStatus.STARTED: Badge(_("Running"), "running", "busy"),
    CallStatus.WAITING: Badge(_("Waiting for an answer"), "question", "asks"),
    CallStatus.SUCCEEDED: Badge(_("Done"), "check", "good"),
    CallStatus.FAILED: Badge(_("Failed"), "cross", "bad"),
    CallStatus.BLOCKED: Badge(_("Blocked"), "blocked", "bad"),
    CallStatus.REJECTED: Badge(_("Rejected"), "blocked", "calm"),
    CallStatus.INTERRUPTED: Badge(_("Interrupted"), "stop", "calm"),
    CallStatus.UNKNOWN: Badge(_("Outcome unknown"), "alert", "bad"),
}
_TASK_BADGES = {
    TaskState.INITIALIZING: Badge(_("Starting"), "running", "busy"),
    TaskState.THINKING: Badge(_("Thinking"), "running", "busy"),
    TaskState.EXECUTING_TOOL: Badge(_("Working"), "running", "busy"),
    TaskState.FINALIZING: Badge(_("Finishing"), "running", "busy"),
    TaskState.DONE: Badge(_("Done"), "check", "good"),
    TaskState.FAILED: Badge(_("Failed"), "alert", "bad"),
}
_WAITING_BADGES = {
    WaitingFor.REPLY: Badge(_("Asks you"), "question", "asks"),
    WaitingFor.APPROVAL: Badge(_("Needs approval"), "shield", "asks"),
    WaitingFor.CHILDREN: Badge(_("Delegated"), "running", "busy"),
    WaitingFor.SIBLINGS: Badge(_("Waits its turn"), "clock", "calm"),
}
_QUEUED = Badge(_("Queued"), "clock", "calm")
_STOPPED = Badge(_("Stopped"), "stop", "calm")
_ASKS = Badge(_("Waits for you"), "question", "asks")


@register.filter
def plain_prose(text: str) -> SafeString:
    """Render Markdown for readers without an account, without links into a workspace."""
    return markdown.markdown(text)


@register.filter
def file_url(path: str, session: Session) -> str:
    return reverse("upload", args=[session.pk]) + quote(path)


@register.filter
def preview_url(path: str, session: Session) -> str:
    return reverse("preview", args=[session.pk, path])


@register.filter
def is_picture(path: str) -> bool:
    return path.lower().endswith(markdown.PICTURES)


@register.filter
def exact(text: str) -> str:
    """Return `text` with invisible characters spelled out: approvers must see every character of a command."""
    return "".join(f"⟨U+{ord(character):04X}⟩" if _is_hidden(character) else character for character in text)


def _is_hidden(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _BLANK_LETTERS


@register.filter
def as_text(value: Any) -> str:
    """Return a string as it is, and any other argument as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def without(arguments: dict[str, Any], names: str) -> dict[str, Any]:
    """Return the arguments that have a value, except those with these names."""
    return {name: value for name, value in arguments.items() if name not in names.split() and value is not None}


@register.filter
def gist(text: str) -> str:
    """Return the first paragraph of a Markdown text without marks."""
    return markdown.first_words(text)


@register.filter
def is_short(text: str) -> bool:
    return len(text) <= 60 and "\n" not in text


@register.filter
def diff_files(diff: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the files of a diff or patch: the name of each, or '', and its lines with their kinds."""
    files: list[tuple[str, list[tuple[str, str]]]] = []
    for kind, line in diff_lines(diff):
        if line.startswith(_PATCH_FRAME):
            continue
        name = _file_name(line) if kind == "file" else ""
        if line.startswith("+++") and kind == "file" and files:  # the second line of a file's header
            files[-1] = name or files[-1][0], files[-1][1]
        elif kind == "file" or not files:
            files.append((name, []))
        files[-1][1].append((kind, line))
    return files


def _file_name(header: str) -> str:
    """Return the file that a header of a diff or patch names, or '' for /dev/null."""
    name = header.partition(": ")[2] if header.startswith("*** ") else header[4:].partition("\t")[0]
    return "" if name == "/dev/null" else name.removeprefix("a/").removeprefix("b/")


@register.filter
def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a unified diff or patch with their kinds: file, added, removed, place or same."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = diff.removesuffix("\n").split("\n")  # not at other line breaks, which are shown
    # Names of files are in the two lines above a hunk header.
    names = {n - back for n, line in enumerate(lines) for back in (1, 2) if line.startswith("@")}
    is_name = [
        (n in names and line.startswith(("---", "+++"))) or line.startswith(_PATCH_FILES)
        for n, line in enumerate(lines)
    ]
    return [("file" if is_name[n] else kinds.get(line[:1], "same"), line) for n, line in enumerate(lines)]


# --- states -----------------------------------------------------------------------------------------------------


@register.filter
def badge(status: str) -> Badge:
    """Return the badge of a tool call's status or of a plan step's."""
    if status == "in_progress":
        return Badge(_("Now"), "running", "busy")
    if status == "done":
        return Badge(_("Done"), "check", "good")
    return CALL_BADGES[CallStatus(status)] if status in CallStatus else CALL_BADGES[CallStatus.PENDING]


@register.filter
def call_badge(item: Item) -> Badge:
    """Return the badge of a tool call: its outcome, or the exit code of its command."""
    return _exit_code_badge(item.status, item.exit_code, is_quiet=item.has_found_nothing)


@register.filter
def step_badge(step: Mapping[str, Any]) -> Badge:
    """Return the badge of a step in the list below an answer."""
    found_nothing = step.get("outcome", "").startswith("[exit code 1,")
    return _exit_code_badge(step["status"], step.get("exit_code") or 0, is_quiet=found_nothing)


def _exit_code_badge(status: str, code: int, *, is_quiet: bool) -> Badge:
    if not code:
        return badge(status)
    words = gettext("Exit code {}").format(code)
    return Badge(words, "check", "calm") if is_quiet and code == 1 else Badge(words, "cross", "bad")


@register.filter
def task_badge(task: Task, queue_position: int | None = None) -> Badge:
    if queue_position:
        return _QUEUED
    badge_of_children = _children_badge(delegated.awaited_children(task))
    return badge_of_children or state_badge(task.state, task.waiting_for, stopped=task.stopped)


def _children_badge(children: Sequence[Task]) -> Badge | None:
    """Return the badge of a task that waits for delegated tasks. A child that waits for a person comes first."""
    if waiting_count := len(delegated.waiting_for_person(children)):
        needs = ngettext("{} delegated task needs you", "{} delegated tasks need you", waiting_count)
        return Badge(needs.format(waiting_count), "question", "asks")
    if active := sum(child.is_active for child in children):
        waits = ngettext("Waits for {} delegated task", "Waits for {} delegated tasks", active)
        return Badge(waits.format(active), "running", "busy")
    return None


@register.filter
def child_badge(child: Task, has_ended: bool = False) -> Badge:
    """Return the badge of a delegated task. If its call `has_ended` while it is still active, it counts as stopped."""
    if child.stopped or (has_ended and child.is_active):
        return _STOPPED
    if delegated.waiting_for_person([child]):
        return _ASKS
    if child.waiting_for == WaitingFor.SIBLINGS or child.state == TaskState.INITIALIZING:
        return _QUEUED
    if child.is_active:
        return Badge(_("Works"), "running", "busy")
    return state_badge(child.state, None, stopped=False)


@register.filter
def session_badge(session: Any) -> Badge | None:
    """Return the badge of a session by the state of its newest task."""
    if not session.task_state:
        return None
    if session.task_waiting_for == WaitingFor.CHILDREN and session.child_asks:
        return _ASKS
    return state_badge(session.task_state, session.task_waiting_for, stopped=session.task_stopped)


@register.simple_tag
def objection(approval: Approval, viewer: Any) -> str:
    """Return why the viewer may not approve, or '' if they may."""
    return decisions.refusal_reason(approval, viewer)


@register.simple_tag
def is_single(approval: Approval) -> bool:
    return decisions.is_single(approval)


@register.simple_tag(takes_context=True)
def waiting_count(context: template.Context) -> int:
    """Return how many questions and approvals wait for the user."""
    return count_waiting_for(context["request"].user)


@register.inclusion_tag("sessions/_beside.html", takes_context=True)
def session_list(context: template.Context) -> dict[str, Any]:
    """Return the context of the sidebar: projects and sessions, and on a session's page its live state."""
    page_context: dict[Any, Any] = context.flatten()
    user, session = page_context["request"].user, page_context.get("session")
    if not isinstance(session, Session):
        session = None
    return {
        **page_context,
        "session": session,
        "groups": sidebar_groups(user, session),
        "projects": sidebar_projects(user),
    }


@register.simple_tag
def gauge(session: Session) -> Gauge | None:
    return gauge_of(session)


@register.simple_tag
def newest_cut(session: Session) -> ContextCut | None:
    return ContextCut.objects.in_session(session).first()


def state_badge(state: str, waiting_for: str | None, *, stopped: bool) -> Badge:
    if waiting_for:
        return _WAITING_BADGES[WaitingFor(waiting_for)]
    return _STOPPED if stopped else _TASK_BADGES[TaskState(state)]
