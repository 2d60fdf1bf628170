"""The end of a task that has its result: a summary of the session and a list of the task's steps."""

from typing import Any

from llm_app.redaction import Redactor
from llm_app.sql import UpdateRow, execute
from tasks_app.models import ContextEntry, ContextType, Session, TaskState
from tasks_app.run import UnitOfWork

LONGEST_OUTCOME = 120  # characters


def finalize(unit: UnitOfWork) -> None:
    """End a task that has its result: store a summary and the list of its steps. No model is called."""
    task, newest_first = unit.task, unit.history.entries[::-1]
    answer = next((entry for entry in newest_first if entry.context_type == ContextType.AI_MESSAGE), None)
    result = next((entry for entry in newest_first if entry.context_type == ContextType.TOOL_RESULT), None)

    def store_summary() -> None:  # in the transaction, which has refreshed the secrets
        redactor = unit.secrets.redactor
        final_result = redactor.redacted_json(task.final_result)
        summary = redactor.redacted(str(result.metadata.get("summary", ""))) if result is not None else ""
        values = {
            "summary": summary or final_result["text"],
            "next_steps": final_result["suggestions"],
            "active_agent": None,
        }
        execute([UpdateRow(Session, values, where={"pk": task.session_id}, error=Session.DoesNotExist())])
        if answer is not None:
            answer.metadata["steps"] = _steps(unit, redactor)
            fields = {"metadata": answer.metadata}
            execute([UpdateRow(ContextEntry, fields, where={"pk": answer.pk}, error=ContextEntry.DoesNotExist())])

    unit.commit(state=TaskState.DONE, extra_write=store_summary)


def _steps(unit: UnitOfWork, redactor: Redactor) -> list[dict[str, Any]]:
    """Return each call of the task with one line of its outcome. Calls before the cut are read again."""
    if unit.history.has_cut:
        in_session = ContextEntry.objects.in_session(unit.session)
        entries = list(in_session.filter(task=unit.task).in_context().defer("thinking"))
    else:
        entries = [entry for entry in unit.history.entries if entry.task_id == unit.task.pk]
    calls = [entry for entry in entries if entry.context_type == ContextType.TOOL_CALL]
    results = {entry.tool_call_id: entry for entry in entries if entry.tool_call_id}
    return [_step(entry, results.get((entry.call or {})["id"]), redactor) for entry in calls]


def _step(call: ContextEntry, result: ContextEntry | None, redactor: Redactor) -> dict[str, Any]:
    text = redactor.redacted(result.metadata.get("summary") or result.content) if result else ""
    first_line = (text.strip().splitlines() or [""])[0]
    return {
        "seq": call.seq,
        "tool": (call.call or {})["name"],
        "status": result.metadata.get("status", "") if result else "",
        "exit_code": result.metadata.get("exit_code") if result else None,
        "outcome": first_line[:LONGEST_OUTCOME],
    }
