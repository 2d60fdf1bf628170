"""Runs a cleared call until a person interrupts it, lets the hooks check its result, and stores that."""

import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeVar

from llm_app.redaction import Redactor
from tasks_app.engine import delegation, effects
from tasks_app.engine.capabilities.progress import Progress
from tasks_app.engine.capabilities.tool_context import tool_context
from tasks_app.engine.check_call import ClearedCall
from tasks_app.engine.hooks import consult
from tasks_app.engine.repetition import reminder_of_cycle
from tasks_app.models import CallStatus, TaskState, ToolCallLog, WorkspaceChange
from tasks_app.record import Draft, images
from tasks_app.record.entry_json import plan_change
from tasks_app.record.tokens import estimate, within_budget
from tasks_app.run import Aborted, TaskContext
from tasks_app.run.open_call import OpenCall
from tasks_app.runtime import lease
from tasks_app.runtime.cancellation import WorkAborted
from tasks_app.runtime.live_stream import LiveStream
from tasks_app.workspace import file_history
from tools_app.contract import Danger, Target, ToolResult
from tools_app.errors import ToolError
from tools_app.hooks.base import Outcome

logger = logging.getLogger(__name__)
T = TypeVar("T")
_REACHING_FILES = (Target.SANDBOX, Target.BROWSER, Target.MCP)


def run(context: TaskContext, cleared: ClearedCall) -> ToolResult:
    """Stores the intent, then runs the handler; of a call that has waited for others, what came of it.

    A safe call of a plain handler leaves nothing to be asked for after a crash: it is stored with its result.
    Raises Aborted when a person comes first.
    """
    call = cleared.open
    if call.log.status == CallStatus.WAITING:
        outcome = delegation.outcome(context, call)
        _stage_change(context, call)
        return outcome
    changes_files = _may_change_files(cleared)
    if changes_files:
        file_history.record_before(context.task, context.workspace)
    leaves_no_trace = cleared.definition.is_plain and not changes_files and not context.settings.hooks
    held_at = None if leaves_no_trace else _intend(context, call.log)
    progress = Progress(LiveStream(context.session.group, context.task.id, context.secrets.redactor))
    began, was_aborted = time.monotonic(), False
    try:
        result = _outcome(context, cleared, progress, held_at)
    except WorkAborted:
        was_aborted = True
        result = _cut_short(context, progress, time.monotonic() - began)
    finally:
        call.log.duration_ms = round((time.monotonic() - began) * 1000)
        context.streamed = progress.stream
    if changes_files:
        changes = _stage_change(context, call)
        if result.status in ("failed", "interrupted"):
            result = replace(result, notes=[*result.notes, *file_history.so_far(changes)])
    if was_aborted:
        call.log.status = CallStatus.INTERRUPTED
        context.stage(rows=[call.log])
        text = "\n".join([_shown(context, call, result, _redacted(context, result)), *result.notes])
        raise Aborted(*call.result(text, CallStatus.INTERRUPTED, stream=progress.stream.id))
    return result


def _outcome(context: TaskContext, cleared: ClearedCall, progress: Progress, held_at: float | None) -> ToolResult:
    """Raises WorkAborted."""
    work = _tried(
        cleared, lambda: cleared.definition.handler(cleared.arguments, tool_context(context, cleared, progress))
    )
    if isinstance(work, ToolResult):
        return work
    with closing(work):
        asked = held_at or _intend(context, cleared.open.log)
        return _tried(cleared, lambda: context.interruption.unless_aborted(lease.unless_over(work, asked)))


def _stage_change(context: TaskContext, call: OpenCall) -> list[WorkspaceChange]:
    seq = context.history.entries[-1].seq
    changes = file_history.record_call(context.task, context.workspace, call.call, seq)
    context.stage(rows=changes)
    return changes


def _tried(cleared: ClearedCall, work: Callable[[], T]) -> T | ToolResult:
    """What it returns; where the tool has a fault, a result that says so."""
    try:
        return work()
    except (WorkAborted, lease.StaleLease):
        raise
    except ToolError as error:
        return ToolResult(content=str(error), status="failed")
    except Exception:
        logger.exception("the tool %s failed", cleared.open.call.name)
        return ToolResult(content="The tool failed because of an internal error. Try something else.", status="failed")


def _intend(context: TaskContext, log: ToolCallLog) -> float:
    """Stores that the call is about to run; returns a moment at which the lease held."""
    log.status = CallStatus.STARTED
    context.stage(rows=[log])
    asked = time.monotonic()
    context.commit(state=TaskState.EXECUTING_TOOL)
    if not lease.is_certain(asked):  # the database was busy
        asked = time.monotonic()
        lease.write(context.task)
    return asked


def _may_change_files(cleared: ClearedCall) -> bool:
    """Whether the files are looked at around the call. What a safe tool changes all the same is found at the next."""
    dangers = (cleared.open.log.danger, cleared.definition.danger.word)
    return any(word != Danger.SAFE.word for word in dangers) or cleared.definition.target in _REACHING_FILES


def filter_result(context: TaskContext, cleared: ClearedCall, result: ToolResult) -> ToolResult:
    """The result as the hooks let it pass: whole, with notes, or withheld. Its declared effects apply in any case.

    When a person interrupts, it is withheld, because it was not checked.
    """
    if not context.settings.hooks:
        return result
    outcome = Outcome(status=result.status, content=result.content)
    try:
        opinion = consult(context, "after_execution", cleared.described, outcome)
    except WorkAborted:
        words = "It ran. The user interrupted before its result was checked, so the result is withheld."
        return replace(_withheld(result, words), status="interrupted")
    opinion.keep_in(cleared.open.log, context.secrets.redactor)
    if opinion.refusal:
        words = f"[The tool ran. Its result is withheld by {opinion.words}]"
        return replace(_withheld(result, words), status="blocked", metadata={"withheld_by": opinion.refused_by})
    return replace(result, notes=[*result.notes, *(f"[{note}]" for note in opinion.notes)])


def _withheld(result: ToolResult, words: str) -> ToolResult:
    """Its effects alone, and what is said instead of it."""
    return replace(result, content=words, images=(), metadata={}, summary="", notes=())


def record(context: TaskContext, cleared: ClearedCall, result: ToolResult) -> None:
    """Appends the result and applies its declared effects, in one transaction. Raises ReplyNeeded or Failed."""
    call = cleared.open
    call.log.status = CallStatus(result.status)
    if call.log.status == CallStatus.SUCCEEDED:
        context.detector.note_success()
    context.stage(rows=[call.log])
    whole = _redacted(context, result)
    redactor = context.secrets.redactor
    changes = effects.apply(result.effects, effects.Changes(task=context.task, call=call, redactor=redactor))
    if call.log.pk is None and changes.state != TaskState.THINKING:  # a task ends by a call that is in the record
        _intend(context, call.log)
        call.log.status = CallStatus(result.status)
        context.stage(rows=[call.log])
    if "plan" in changes.fields:
        plan = plan_change(context.task.plan, changes.fields["plan"])
        result = replace(result, metadata={**result.metadata, "plan": plan})
    context.stage(
        *_drafts(context, cleared, result, whole, redactor),
        *changes.drafts,
        rows=changes.rows,
        crashes=0,
        state=changes.state,
        **changes.fields,
    )
    if changes.failure:
        raise changes.failure
    context.commit(also=lambda: _also(context, changes))
    if changes.also:
        context.look_again()


def _redacted(context: TaskContext, result: ToolResult) -> str:
    """What it says, by the secrets of this moment where the commit cannot redact it anew: with effects, or where it is
    cut, for a half of a secret is not found any more. All else the commit redacts, and looks for new secrets itself.
    """
    whole = context.secrets.redactor.redacted(result.content)
    if not result.effects and estimate(whole) <= context.settings.result_tokens:
        return whole
    return context.secrets.refresh(context.look().version).redactor.redacted(result.content)


def _drafts(
    context: TaskContext, cleared: ClearedCall, result: ToolResult, whole: str, redactor: Redactor
) -> list[Draft]:
    """The result as it is recorded, `whole` being its redacted content, and what is said right after it."""
    call = cleared.open
    content = _shown(context, call, result, whole)
    kept, faults = images.keep(context.workspace, result.images)
    notes = [redactor.redacted(note) for note in result.notes]
    text = "\n".join([content, *notes, *faults, *([f"[{cleared.note}]"] if cleared.note else [])])
    about: dict[str, Any] = {"stream": context.streamed.id} if context.streamed else {}
    about |= {**result.metadata, "summary": result.summary} if result.summary else result.metadata
    return [
        *call.result(text, result.status, images=kept, **about),
        *reminder_of_cycle(context, call),
    ]


def _also(context: TaskContext, changes: effects.Changes) -> None:
    for apply in changes.also:
        apply()
    context.reserve_next_call()


def _shown(context: TaskContext, call: OpenCall, result: ToolResult, whole: str) -> str:
    return within_budget(result, whole, context.workspace, call.call, context.settings.result_tokens)


def _cut_short(context: TaskContext, progress: Progress, seconds: float) -> ToolResult:
    """The result of a tool that was ended: that it was, and how far it had come. Unchecked output is withheld."""
    output = "" if context.settings.filters_output else progress.text().rstrip("\n")
    words = f"Interrupted by the user after {seconds:.1f} s, before it was done."
    text = f"{words} Its output until then:\n{output}" if output else words
    return ToolResult(
        content=f"{text}\n[interrupted after {seconds:.1f} s]" if output else text, cut="middle", status="interrupted"
    )
