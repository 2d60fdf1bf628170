"""Running a cleared call: its handler, the hooks that check its result, and the entries that record it."""

import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any, TypeVar

from llm_app.redaction import Redactor
from tasks_app.engine import delegation, effects
from tasks_app.engine.capabilities.progress import Progress
from tasks_app.engine.capabilities.tool_context import tool_context
from tasks_app.engine.check_call import ClearedCall
from tasks_app.engine.closing import stage_file_changes
from tasks_app.engine.hooks import consult
from tasks_app.engine.repetition import reminder_of_cycle
from tasks_app.models import CallStatus, TaskState, ToolCallLog
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
from tools_app.hooks import CallOutcome

logger = logging.getLogger(__name__)
T = TypeVar("T")
_TARGETS_WITH_FILE_ACCESS = (Target.SANDBOX, Target.BROWSER, Target.MCP)


def run(context: TaskContext, cleared: ClearedCall) -> ToolResult:
    """Return the children's results if the call delegated tasks. Otherwise run the handler.

    Raises: Aborted if a person interrupts it.
    """
    if cleared.call.log.status == CallStatus.WAITING:
        result = delegation.result_of_children(context, cleared.call)
        stage_file_changes(context, context.workspace, cleared.call)
        return result
    return _run_handler(context, cleared)


def _run_handler(context: TaskContext, cleared: ClearedCall) -> ToolResult:
    """Store the intent, run the handler, and stage the file changes.

    A safe call of a plain handler stores no intent, as it leaves nothing to recover after a crash.
    """
    call, can_change_files = cleared.call, _can_change_files(cleared)
    change: dict[str, Any] | None = None
    if cleared.plan is not None:
        plan = [asdict(step) for step in cleared.plan]
        change = plan_change(context.task.plan, plan)
        context.stage(plan=plan)
    if can_change_files:
        file_history.record_before(context.task, context.workspace)
    needs_intent = not cleared.definition.is_plain or can_change_files or bool(context.settings.hooks)
    held_at = _store_intent(context, call.log) if needs_intent else None
    progress = Progress(LiveStream(context.session.group, context.task.id, context.secrets.redactor))
    started_at, is_aborted = time.monotonic(), False
    try:
        result = _call_handler(context, cleared, progress, held_at)
    except WorkAborted:
        is_aborted = True
        output = "" if context.settings.filters_output else progress.text().rstrip("\n")  # unchecked output is withheld
        result = _aborted_result(output, time.monotonic() - started_at)
    finally:
        call.log.duration_ms = round((time.monotonic() - started_at) * 1000)
        context.live_stream = progress.stream
    if can_change_files:
        changes = stage_file_changes(context, context.workspace, call)
        if result.status in ("failed", "interrupted"):
            result = replace(result, notes=[*result.notes, *file_history.changed_files_note(changes)])
    if change:
        result = replace(result, metadata={**result.metadata, "plan": change})
    if is_aborted:
        call.log.status = CallStatus.INTERRUPTED
        context.stage(rows=[call.log])
        text = "\n".join([_within_limit(context, call, result, _redacted(context, result)), *result.notes])
        raise Aborted(*call.result(text, CallStatus.INTERRUPTED, stream=progress.stream.id))
    return result


def _call_handler(context: TaskContext, cleared: ClearedCall, progress: Progress, held_at: float | None) -> ToolResult:
    """Call the handler, and await its coroutine if it returns one. `held_at` is None if no intent is stored yet.

    Raises: WorkAborted.
    """
    name, handler = cleared.definition.name, cleared.definition.handler
    returned = _value_or_failure(name, lambda: handler(cleared.arguments, tool_context(context, cleared, progress)))
    if isinstance(returned, ToolResult):
        return returned
    with closing(returned):  # closes the coroutine if storing the intent fails
        held_at = held_at or _store_intent(context, cleared.call.log)
        work = lease.run_if_held(returned, held_at)
        return _value_or_failure(name, lambda: context.interruption.run(work))


def _aborted_result(output: str, seconds: float) -> ToolResult:
    """Return the result of an interrupted tool, with its output so far."""
    text = f"Interrupted by the user after {seconds:.1f} s, before it was done."
    if output:
        text = f"{text} Its output until then:\n{output}"
    return ToolResult(content=text, cut="middle", status="interrupted")


def _value_or_failure(tool: str, function: Callable[[], T]) -> T | ToolResult:
    """Return the value of `function`, or a result that reports the tool's error."""
    try:
        return function()
    except (WorkAborted, lease.StaleLease):
        raise
    except ToolError as error:
        return ToolResult(content=str(error), status="failed")
    except Exception:
        logger.exception("the tool %s failed", tool)
        return ToolResult(content="The tool failed because of an internal error. Try something else.", status="failed")


def _store_intent(context: TaskContext, log: ToolCallLog) -> float:
    """Store that the call is about to run. Return the monotonic time at which the lease was last confirmed."""
    log.status = CallStatus.STARTED
    context.stage(rows=[log])
    held_at = time.monotonic()
    context.commit(state=TaskState.EXECUTING_TOOL)
    if not lease.is_held_since(held_at):  # the commit took so long that the lease may have expired: renew it
        held_at = time.monotonic()
        lease.write(context.task)
    return held_at


def _can_change_files(cleared: ClearedCall) -> bool:
    """Return whether to compare files before and after the call.

    Changes by a safe tool are found at the next comparison.
    """
    dangers = (cleared.call.log.danger, cleared.definition.danger.word)
    return any(word != Danger.SAFE.word for word in dangers) or cleared.definition.target in _TARGETS_WITH_FILE_ACCESS


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
        reason = "It ran. The user interrupted before its result was checked, so the result is withheld."
        return replace(_withheld(result, reason), status="interrupted")
    opinion.write_to(cleared.call.log, context.secrets.redactor)
    if opinion.refusal:
        reason = f"[The tool ran. Its result is withheld by {opinion.words}]"
        return replace(_withheld(result, reason), status="blocked", metadata={"withheld_by": opinion.refused_by})
    return replace(result, notes=[*result.notes, *(f"[{note}]" for note in opinion.notes)])


def _withheld(result: ToolResult, reason: str) -> ToolResult:
    """Return a result with the same effects, and `reason` instead of its content."""
    return replace(result, content=reason, images=(), metadata={}, summary="", notes=())


def record(context: TaskContext, cleared: ClearedCall, result: ToolResult) -> None:
    """Append the result and apply its declared effects, in one transaction.

    Raises: ReplyNeeded, ChildrenNeeded, Refused, Failed.
    """
    call = cleared.call
    call.log.status = CallStatus(result.status)
    if call.log.status == CallStatus.SUCCEEDED:
        context.detector.note_success()
    context.stage(rows=[call.log])
    content = _redacted(context, result)
    redactor = context.secrets.redactor
    changes = effects.apply(result.effects, effects.Changes(task=context.task, call=call, redactor=redactor))
    if call.log.pk is None and changes.state != TaskState.THINKING:  # `finalizing` only follows `executing_tool`
        _store_intent(context, call.log)
        call.log.status = CallStatus(result.status)
        context.stage(rows=[call.log])
    if "plan" in changes.fields:
        plan = plan_change(context.task.plan, changes.fields["plan"])
        result = replace(result, metadata={**result.metadata, "plan": plan})
    context.stage(
        *_drafts(context, cleared, result, content, redactor),
        *changes.drafts,
        rows=changes.rows,
        crashes=0,
        state=changes.state,
        **changes.fields,
    )
    if changes.failure:
        raise changes.failure

    def write_other_tables() -> None:
        for write in changes.extra_writes:
            write()

    context.reserve_next_call()
    context.commit(extra_write=write_other_tables if changes.extra_writes else None)


def _redacted(context: TaskContext, result: ToolResult) -> str:
    """Return the redacted content.

    Refresh the secrets first if the result has effects or will be truncated: the commit cannot redact those again.
    """
    content = context.secrets.redactor.redacted(result.content)
    if not result.effects and estimate(content) <= context.result_tokens:
        return content
    return context.secrets.refresh(context.snapshot(fresh=True).version).redactor.redacted(result.content)


def _drafts(
    context: TaskContext, cleared: ClearedCall, result: ToolResult, content: str, redactor: Redactor
) -> list[Draft]:
    """Return the result's entry, whose redacted content is `content`, and the reminders that follow it."""
    call = cleared.call
    pictures, faults = images.store(context.workspace, result.images)
    notes = [redactor.redacted(note) for note in result.notes]
    lines = [_within_limit(context, call, result, content), *notes, *faults]
    if cleared.note:
        lines.append(f"[{cleared.note}]")
    text = "\n".join(lines)
    metadata: dict[str, Any] = {"stream": context.live_stream.id} if context.live_stream else {}
    metadata |= result.metadata
    if result.summary:
        metadata["summary"] = result.summary
    return [
        *call.result(text, result.status, images=pictures, **metadata),
        *reminder_of_cycle(context, call),
    ]


def _within_limit(context: TaskContext, call: OpenCall, result: ToolResult, content: str) -> str:
    """Return the content, shortened to the limit of a result."""
    return within_budget(result, content, context.workspace, call.call, context.result_tokens)
