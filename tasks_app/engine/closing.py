"""The end of an open call when a person interrupts it, or its task fails."""

from django.db import transaction
from django.db.models import Model

from tasks_app.engine import delegation
from tasks_app.models import CallStatus, Decision, Limits, WorkspaceChange
from tasks_app.models.operations import LARGE_WINDOW
from tasks_app.record import Draft, lock, tokens
from tasks_app.run import UnitOfWork, children
from tasks_app.run.open_call import OpenCall
from tasks_app.workspace import file_history
from tools_app.files import Workspace

UNKNOWN = (
    "The server stopped while this call was running. Whether it took effect is unknown: check before you repeat it."
)


def close_open_call(unit: UnitOfWork, workspace: Workspace | None, why: str) -> list[Draft]:
    """Return the result of the open call, if there is one, and stage its log and approval.

    Without the workspace, the call's file changes are not recorded, and its children's results are not reported.
    """
    call = unit.history.open_call()
    if call is None:
        return []
    can_have_changed_files = call.log.status == CallStatus.STARTED  # it ran when the server stopped
    status, text = _status_and_text(call, why)
    call.log.status = status
    if delegated := list(children.of_call(call.log)):
        with transaction.atomic():
            lock(unit.session)
            children.stop(unit.task)
        text = _reason_without_not_run(why)
        can_have_changed_files = True
        if workspace:
            page = Limits.current().result_tokens_in(LARGE_WINDOW) * tokens.BYTES_PER_TOKEN // 2
            text += f"\n{delegation.results_text(delegated, workspace, page)}"
    if workspace and can_have_changed_files:
        changes = stage_file_changes(unit, workspace, call)
        text = "\n".join([text, *file_history.changed_files_note(changes)])
    rows: list[Model] = [call.log]
    approval = getattr(call.log, "approval", None)
    if approval is not None and approval.decision == Decision.PENDING:
        approval.decision, approval.note = Decision.REJECTED, "closed: the task went another way"
        rows.append(approval)
    unit.stage(rows=rows)
    return call.result(text, status)


def stage_file_changes(unit: UnitOfWork, workspace: Workspace, call: OpenCall) -> list[WorkspaceChange]:
    """Compare the files with their state before the call, and stage the changes."""
    seq = unit.history.entries[-1].seq
    changes = file_history.record_call(unit.task, workspace, call.call, seq)
    unit.stage(rows=changes)
    return changes


def _status_and_text(call: OpenCall, why: str) -> tuple[CallStatus, str]:
    if call.log.status == CallStatus.STARTED:
        return CallStatus.UNKNOWN, UNKNOWN
    if call.log.status == CallStatus.WAITING:
        return CallStatus.INTERRUPTED, f"No answer. {_reason_without_not_run(why)}"
    return CallStatus.REJECTED, why


def _reason_without_not_run(why: str) -> str:
    """Return the reason without "Not run", as a call that has asked or delegated did run."""
    reason = why.removeprefix("Not run: ")
    return reason[0].upper() + reason[1:]
