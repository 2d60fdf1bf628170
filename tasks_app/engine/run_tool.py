"""The run of a cleared call until a person interrupts it, the hooks' check of its result, and the record of it."""

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
from tools_app.hooks.base import CallOutcome

logger = logging.getLogger(__name__)
T = TypeVar("T")
_REACHING_FILES = (Target.SANDBOX, Target.BROWSER, Target.MCP)


def run(context: TaskContext, cleared: ClearedCall) -> ToolResult:
    """Run the call and return its result, or that of its children if it has delegated.

    Before the handler runs, the intent is stored. A safe call of a plain handler needs none, as it leaves nothing to
    recover after a crash.

    Raises: Aborted if a person comes first.
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
            result = replace(result, notes=[*result.notes, *file_history.changed_files_note(changes)])
    if was_aborted:
        call.log.status = CallStatus.INTERRUPTED
        context.stage(rows=[call.log])
        text = "\n".join([_shown(context, call, result, _redacted(context, result)), *result.notes])
        raise Aborted(*call.result(text, CallStatus.INTERRUPTED, stream=progress.stream.id))
    return result


def _outcome(context: TaskContext, cleared: ClearedCall, progress: Progress, held_at: float | None) -> ToolResult:
    """Run the handler.

    Raises: WorkAborted.
    """
    work = _tried(
        cleared, lambda: cleared.definition.handler(cleared.arguments, tool_context(context, cleared, progress))
    )
    if isinstance(work, ToolResult):
        return work
    with closing(work):
        asked = held_at or _intend(context, cleared.open.log)
        return _tried(cleared, lambda: context.interruption.run(lease.run_if_held(work, asked)))


def _stage_change(context: TaskContext, call: OpenCall) -> list[WorkspaceChange]:
    seq = context.history.entries[-1].seq
    changes = file_history.record_call(context.task, context.workspace, call.call, seq)
    context.stage(rows=changes)
    return changes


def _tried(cleared: ClearedCall, work: Callable[[], T]) -> T | ToolResult:
    """Return the value of `work`, or a result that reports the tool's error."""
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
    """Store that the call is about to run. Return a time of the monotonic clock at which the lease held."""
    log.status = CallStatus.STARTED
    context.stage(rows=[log])
    asked = time.monotonic()
    context.commit(state=TaskState.EXECUTING_TOOL)
    if not lease.is_held_since(asked):  # the database was slow
        asked = time.monotonic()
        lease.write(context.task)
    return asked


def _may_change_files(cleared: ClearedCall) -> bool:
    """Return whether to compare files before and after the call. Changes by a safe tool are found at the next
    comparison.
    """
    dangers = (cleared.open.log.danger, cleared.definition.danger.word)
    return any(word != Danger.SAFE.word for word in dangers) or cleared.definition.target in _REACHING_FILES


def filter_result(context: TaskContext, cleared: ClearedCall, result: ToolResult) -> ToolResult:
    """Return the result as the hooks pass it: complete, with notes, or withheld. Its declared effects always apply.

    If a person interrupts, it is withheld, because it was not checked.
    """
    if not context.settings.hooks:
        return result
    outcome = CallOutcome(status=result.status, content=result.content)
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
    """Return a result with the same effects, and `words` instead of its content."""
    return replace(result, content=words, images=(), metadata={}, summary="", notes=())


def record(context: TaskContext, cleared: ClearedCall, result: ToolResult) -> None:
    """Append the result and apply its declared effects, in one transaction.

    Raises: ReplyNeeded, ChildrenNeeded, Refused, Failed.
    """
    call = cleared.open
    call.log.status = CallStatus(result.status)
    if call.log.status == CallStatus.SUCCEEDED:
        context.detector.note_success()
    context.stage(rows=[call.log])
    whole = _redacted(context, result)
    redactor = context.secrets.redactor
    changes = effects.apply(result.effects, effects.Changes(task=context.task, call=call, redactor=redactor))
    if call.log.pk is None and changes.state != TaskState.THINKING:  # a call that ends its task must be in the record
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
    """Return the redacted content. It uses the newest secrets if the commit cannot redact it again.

    That is so with effects, and for content that is cut, since half a secret is not found. All other content is
    redacted by the commit, which looks for new secrets.
    """
    whole = context.secrets.redactor.redacted(result.content)
    if not result.effects and estimate(whole) <= context.settings.result_tokens:
        return whole
    return context.secrets.refresh(context.look().version).redactor.redacted(result.content)


def _drafts(
    context: TaskContext, cleared: ClearedCall, result: ToolResult, whole: str, redactor: Redactor
) -> list[Draft]:
    """Return the result's entry, whose redacted content is `whole`, and the reminders that follow it."""
    call = cleared.open
    content = _shown(context, call, result, whole)
    kept, faults = images.store(context.workspace, result.images)
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
    """Return the result of an interrupted tool, with its output so far. Unchecked output is withheld."""
    output = "" if context.settings.filters_output else progress.text().rstrip("\n")
    words = f"Interrupted by the user after {seconds:.1f} s, before it was done."
    text = f"{words} Its output until then:\n{output}" if output else words
    return ToolResult(
        content=f"{text}\n[interrupted after {seconds:.1f} s]" if output else text, cut="middle", status="interrupted"
    )
