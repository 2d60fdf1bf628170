"""After a tool has run: the hooks look at its result before anyone else sees it."""

from dataclasses import replace

from tasks_app.engine.check_call import ClearedCall
from tasks_app.engine.hooks import consult
from tasks_app.models.tool_call import CallStatus
from tasks_app.run.context import TaskContext
from tasks_app.run.interrupts import Aborted
from tasks_app.runtime.cancellation import WorkAborted
from tools_app.contract.base import ToolResult
from tools_app.hooks.base import Outcome


def filter_result(context: TaskContext, cleared: ClearedCall, result: ToolResult) -> ToolResult:
    """The result as it may be appended: whole, with notes, or withheld whole. What it declared happens all the same.

    Raises Aborted when a person comes first; then it is withheld too, for it has not passed.
    """
    outcome = Outcome(status=result.status, content=result.content)
    try:
        opinion = consult(context, "after_execution", cleared.described, outcome)
    except WorkAborted:
        cleared.open.log.status = CallStatus.INTERRUPTED
        context.stage(rows=[cleared.open.log])
        words = "It ran. The user interrupted before its result was checked, so the result is withheld."
        raise Aborted(*cleared.open.result(words, CallStatus.INTERRUPTED)) from None
    if opinion.refusal:
        words = f"[The tool ran. Its result is withheld by {opinion.words}]"
        return replace(result, content=words, status="blocked", images=(), metadata={"withheld_by": opinion.refused_by})
    notes = [f"[{note}]" for note in opinion.notes]
    return replace(result, content="\n".join([result.content, *notes])) if notes else result
