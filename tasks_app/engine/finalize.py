"""The end of a task that has its result: the summary, the next steps and the list of what was done. No LLM is asked."""

from typing import Any

from llm_app.redaction.redactor import Redactor
from tasks_app.models import ContextEntry, ContextType, Session, TaskState
from tasks_app.run.context import TaskContext

LONGEST_LINE = 120  # characters


def finalize(context: TaskContext) -> None:
    session, answer = context.session, _answer(context)

    def also() -> None:
        final = context.secrets.redactor.redacted_json(context.task.final_result)
        Session.objects.filter(pk=session.pk).update(summary=final["text"], next_steps=final["suggestions"])
        if answer is not None:
            answer.metadata["steps"] = steps_of(context)
            answer.save(update_fields=["metadata"])

    context.commit(state=TaskState.DONE, also=also)


def steps_of(context: TaskContext) -> list[dict[str, Any]]:
    """Each call of the task with one line of its outcome; also those from before the cut."""
    entries = ContextEntry.objects.of(context.session).filter(task=context.task).in_context().defer("thinking")
    calls = [entry for entry in entries if entry.context_type == ContextType.TOOL_CALL]
    results = {entry.tool_call_id: entry for entry in entries if entry.tool_call_id}
    return [_step(entry, results.get((entry.call or {})["id"]), context.secrets.redactor) for entry in calls]


def _step(call: ContextEntry, result: ContextEntry | None, redactor: Redactor) -> dict[str, Any]:
    outcome = (redactor.redacted(result.content).strip().splitlines() or [""])[0] if result else ""
    return {
        "seq": call.seq,
        "tool": (call.call or {})["name"],
        "status": result.metadata.get("status", "") if result else "",
        "outcome": outcome[:LONGEST_LINE],
    }


def _answer(context: TaskContext) -> ContextEntry | None:
    """The message that carried the result."""
    answers = (e for e in reversed(context.history.entries) if e.context_type == ContextType.AI_MESSAGE)
    return next(answers, None)
