"""The end of an open call when a person interrupts it, or its task fails."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Model

from tasks_app.engine import delegation
from tasks_app.models import CallStatus, Decision, Limits, Task
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
    may_have_changed_files = call.log.status == CallStatus.STARTED  # it ran when the server stopped
    status, text = _ending(call, why)
    call.log.status = status
    if delegated := list(children.of_call(call.log)):
        _stop_children(unit)
        text = _of_one_that_ran(why)
        may_have_changed_files = True
        if workspace:
            text += f"\n{_done_by(delegated, workspace)}"
    if workspace and may_have_changed_files:
        seq = unit.history.entries[-1].seq
        changes = file_history.record_call(unit.task, workspace, call.call, seq)
        unit.stage(rows=changes)
        text = "\n".join([text, *file_history.changed_files_note(changes)])
    unit.stage(rows=[call.log, *_closed_approval(call)])
    return call.result(text, status)


def _stop_children(unit: UnitOfWork) -> None:
    """Stop the children that run, before the call ends."""
    with transaction.atomic():
        lock(unit.session)
        children.stop(unit.task)


def _done_by(delegated: Sequence[Task], workspace: Workspace) -> str:
    """Return the children's results so far."""
    page = Limits.current().result_tokens_in(LARGE_WINDOW) * tokens.BYTES_PER_TOKEN // 2
    return delegation.told(delegated, workspace, page)


def _ending(call: OpenCall, why: str) -> tuple[CallStatus, str]:
    if call.log.status == CallStatus.STARTED:
        return CallStatus.UNKNOWN, UNKNOWN
    if call.log.status == CallStatus.WAITING:
        return CallStatus.INTERRUPTED, f"No answer. {_of_one_that_ran(why)}"
    return CallStatus.REJECTED, why


def _of_one_that_ran(why: str) -> str:
    """Return the reason without "Not run", as a call that has asked or delegated did run."""
    words = why.removeprefix("Not run: ")
    return words[0].upper() + words[1:]


def _closed_approval(call: OpenCall) -> list[Model]:
    approval = getattr(call.log, "approval", None)
    if approval is None or approval.decision != Decision.PENDING:
        return []
    approval.decision, approval.note = Decision.REJECTED, "closed: the task went another way"
    return [approval]
