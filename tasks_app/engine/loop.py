"""The loop that advances a task. An iteration has nine steps:

1 preflight · 2 open call, or think · 3 no call: remind · 4 several calls: the first · 5 record the assistant's entry ·
6 before execution · 7 run the tool, let hooks see its result · 8 record it and its effects · 9 a result ends the task
"""

import logging
import time
from collections.abc import Sequence
from typing import Any

from llm_app.redaction import Redactor
from llm_app.sql.statements import Update, execute
from tasks_app.engine import preflight, run_tool, think
from tasks_app.engine.check_call import before_execution
from tasks_app.models import ContextEntry, ContextType, Session, Task, TaskState
from tasks_app.run import Interrupt, TaskContext, UnitOfWork
from tasks_app.runtime import process, suspects
from tasks_app.runtime.metrics import ITERATIONS

logger = logging.getLogger(__name__)
TIME_SLICE = 30.0  # seconds, after which another task of this worker runs
LONGEST_LINE = 120  # characters of an outcome


def run(context: TaskContext) -> None:
    """Advance a claimed task until it waits, ends, its time slice is over, or its worker drains.

    A suspect's slice also ends with its first result, as others wait for it.
    """
    end = time.monotonic() + TIME_SLICE
    was_suspect = suspects.is_suspect(context.task)
    while is_runnable(context.task) and time.monotonic() < end and not process.is_draining():
        advance(context)
        if was_suspect and not context.task.crashes:
            break
        logger.info("iteration %d, state %s", context.task.iteration, context.task.state)


def is_runnable(task: Task) -> bool:
    return task.is_active and task.waiting_for is None


def advance(context: TaskContext) -> None:
    """Run one iteration. An interrupt carries the entries to append and the next state."""
    try:
        step(context)
    except Interrupt as interrupt:
        context.commit(*interrupt.entries, also=interrupt.also, **{"crashes": 0} | interrupt.fields)


def step(context: TaskContext) -> None:
    """Run one tool call, from the model's reply to its recorded result."""
    if context.task.state == TaskState.FINALIZING:
        finalize(context)
        return
    ITERATIONS.inc()
    preflight.check(context)
    call = context.history.open_call() or think.think(context)
    cleared = before_execution(context, call)
    result = run_tool.filter_result(context, cleared, run_tool.run(context, cleared))
    run_tool.record(context, cleared, result)


def finalize(unit: UnitOfWork) -> None:
    """End a task that has its result: store a summary and the list of its steps. No model is called."""
    task, answer = unit.task, _answer(unit.history.entries)

    def also() -> None:
        redactor = unit.secrets.redactor
        final = redactor.redacted_json(task.final_result)
        summary = redactor.redacted(_summary(unit.history.entries)) or final["text"]
        values = {"summary": summary, "next_steps": final["suggestions"], "active_agent": None}
        execute([Update(Session, values, where={"pk": task.session_id}, otherwise=Session.DoesNotExist())])
        if answer is not None:
            answer.metadata["steps"] = _steps(unit, redactor)
            stored = {"metadata": answer.metadata}
            execute([Update(ContextEntry, stored, where={"pk": answer.pk}, otherwise=ContextEntry.DoesNotExist())])

    unit.commit(state=TaskState.DONE, also=also)


def _steps(unit: UnitOfWork, redactor: Redactor) -> list[dict[str, Any]]:
    """Return each call of the task with one line of its outcome. Calls before the cut are read again."""
    task, entries = unit.task, [entry for entry in unit.history.entries if entry.task_id == unit.task.pk]
    if unit.history.has_cut:
        entries = list(ContextEntry.objects.in_session(task.session).filter(task=task).in_context().defer("thinking"))
    calls = [entry for entry in entries if entry.context_type == ContextType.TOOL_CALL]
    results = {entry.tool_call_id: entry for entry in entries if entry.tool_call_id}
    return [_step(entry, results.get((entry.call or {})["id"]), redactor) for entry in calls]


def _step(call: ContextEntry, result: ContextEntry | None, redactor: Redactor) -> dict[str, Any]:
    said = redactor.redacted(result.metadata.get("summary") or result.content) if result else ""
    outcome = (said.strip().splitlines() or [""])[0]
    return {
        "seq": call.seq,
        "tool": (call.call or {})["name"],
        "status": result.metadata.get("status", "") if result else "",
        "exit_code": result.metadata.get("exit_code") if result else None,
        "outcome": outcome[:LONGEST_LINE],
    }


def _summary(entries: Sequence[ContextEntry]) -> str:
    """Return the one-line summary of the tool that ended the task, or ''."""
    results = (e for e in reversed(entries) if e.context_type == ContextType.TOOL_RESULT)
    newest = next(results, None)
    return str(newest.metadata.get("summary", "")) if newest is not None else ""


def _answer(entries: Sequence[ContextEntry]) -> ContextEntry | None:
    """Return the message that carried the result."""
    answers = (e for e in reversed(entries) if e.context_type == ContextType.AI_MESSAGE)
    return next(answers, None)
