"""The loop. An iteration has nine steps:

1 preflight · 2 open call, or think · 3 no call: remind · 4 several calls: the first · 5 record the assistant's entry ·
6 before execution · 7 run the tool, let hooks see its result · 8 record it and its effects · 9 a result ends the task
"""

import time
from typing import Any

from llm_app.redaction.redactor import Redactor
from tasks_app.engine import preflight, run_tool, think
from tasks_app.engine.check_call import before_execution
from tasks_app.models import ContextEntry, ContextType, Session, TaskState
from tasks_app.run import Interrupt, TaskContext

TIME_SLICE = 30.0  # seconds; then another task of this worker has its turn


LONGEST_LINE = 120  # characters


def run(context: TaskContext) -> None:
    """Advances a claimed task until it waits, ends, or its time slice is over."""
    end = time.monotonic() + TIME_SLICE
    while is_runnable(context) and time.monotonic() < end:
        advance(context)


def is_runnable(context: TaskContext) -> bool:
    return context.task.is_active and context.task.waiting_for is None


def advance(context: TaskContext) -> None:
    """One iteration. An interrupt says what to append, and what the next state is."""
    try:
        step(context)
    except Interrupt as interrupt:
        context.commit(*interrupt.entries, **interrupt.fields)


def step(context: TaskContext) -> None:
    """One tool call, from the model's reply to its recorded result."""
    if context.task.state == TaskState.FINALIZING:
        finalize(context)
        return
    preflight.check(context)
    call = context.open_call() or think.think(context)
    cleared = before_execution(context, call)
    result = run_tool.filter_result(context, cleared, run_tool.run(context, cleared))
    run_tool.record(context, cleared, result)


def finalize(context: TaskContext) -> None:
    """Ends a task that has its result, with a summary and a list of its steps. No model is called."""
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
