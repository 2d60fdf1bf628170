"""The checks before a tool runs: known, valid, allowed, not repeated, passed by hooks, approved.

A refusal is a visible result. Nothing here changes what the model wrote, apart from the types of its arguments.
"""

import json
import time
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from llm_app.redaction import redacted_call
from tasks_app.engine import step_settings
from tasks_app.engine.approvals import require_approval
from tasks_app.engine.closing import UNKNOWN, stage_file_changes
from tasks_app.engine.hooks import Opinion, consult
from tasks_app.engine.repetition import reminder_of_cycle, repeated_result
from tasks_app.engine.reply import CUT_TOO_OFTEN, cut_again
from tasks_app.engine.workflow import refusal_of_result
from tasks_app.models import CallStatus, FailureCode, ToolCallLog
from tasks_app.run import (
    Aborted,
    ApprovalNeeded,
    ChildrenNeeded,
    Failed,
    Interrupt,
    LoopDetected,
    Refused,
    ReplyNeeded,
    TaskContext,
    children,
    reminders,
)
from tasks_app.run.loop_detector import CountedCall, fingerprint, uncounted
from tasks_app.run.open_call import OpenCall
from tasks_app.runtime.cancellation import WorkAborted
from tasks_app.workspace import file_history
from tools_app.contract import Arguments, Danger, Judgement, PlanStep, ToolDefinition, base
from tools_app.errors import ToolError, UnknownTool
from tools_app.hooks import Call
from tools_app.mcp import fitted_arguments
from tools_app.policy import Policy
from tools_app.tools.plan import begun

T = TypeVar("T")
REPEATED = (
    "Refused: the same call with the same arguments, again. It has shown the same each time, and no file of the "
    "workspace has changed since. Its last result was:"
)
_SHORT_ARGUMENTS = 400  # characters; shorter ones are not the reason that a reply was cut
_json = json.JSONEncoder(ensure_ascii=False).encode


class Check:
    """A block whose duration and outcome are noted in the call's log."""

    def __init__(self, log: ToolCallLog, name: str) -> None:
        self._log, self._name = log, name

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        outcome = "passed" if kind is None else "waits for a person" if kind is ApprovalNeeded else "refused"
        self._log.add_remark(self._name, outcome, time.perf_counter() - self._began)


@dataclass(frozen=True, kw_only=True)
class ClearedCall:
    """A call that is cleared to run. `note` is added to its result: who approved it, and remarks of hooks.

    `plan` is the task's plan from this call on, if it names the step that begins.
    """

    call: OpenCall
    definition: ToolDefinition
    arguments: Arguments
    note: str = ""
    plan: Sequence[PlanStep] | None = None

    @property
    def described(self) -> Call:
        """Return the call as hooks see it."""
        return _describe(self.call, self.definition, self.arguments)


def check(context: TaskContext, call: OpenCall) -> ClearedCall:
    """Check the call and return it cleared.

    Raises: Refused, Aborted, LoopDetected, ReplyNeeded, ChildrenNeeded, ApprovalNeeded.
    """
    if call.log.status == CallStatus.WAITING:
        return _resume_delegation(context, call)
    if call.log.status == CallStatus.STARTED and call.log.danger != Danger.SAFE.word:
        raise _unknown_outcome(context, call)
    step_settings.refresh(context, context.snapshot(fresh=True))  # settings may have changed during the model's call
    if call.cut_at is not None:
        raise _cut_off(context, call, call.cut_at)
    try:
        with Check(call.log, "arguments"):
            definition, arguments = _read_call(context, call)
    except ToolError as error:
        call.log.fingerprint = _fingerprint_as_written(call)
        _check_repetition(context, call)
        text = str(error)
        if isinstance(error, UnknownTool):
            text = f"{text} The tools are: {', '.join(tool.name for tool in context.visible)}."
        raise _refusal(context, call, CallStatus.FAILED, text) from error
    if not definition.loop_exempt:
        _check_repetition(context, call)
    with Check(call.log, "policy"):
        judgement = _judge(context, call, definition, arguments)
    is_result = definition.name == "message" and getattr(arguments, "type", "") == "result"
    if is_result and not context.has_made_all_calls and (reason := refusal_of_result(context.task)):
        call.log.add_remark("workflow", "refused", 0)
        raise _refusal(context, call, CallStatus.BLOCKED, reason)
    opinion = Opinion()
    if context.settings.hooks:
        opinion = _consult_hooks(context, call, _describe(call, definition, arguments))
        step_settings.refresh(context, context.snapshot(fresh=True))  # or during the hooks' checks
        judgement = _judge(context, call, definition, arguments)
    reasons = [judgement.rule] if context.settings.policy.needs_approval(definition.name, judgement) else []
    reasons += [opinion.ask] if opinion.ask else []
    approval = ""
    if reasons:
        with Check(call.log, "approval"):
            asked = replace(judgement, rule="; ".join(filter(None, reasons)))
            approval = require_approval(context, call, replace(asked, covers="") if opinion.ask else asked)
    plan, remark = _begun_plan(context, call, definition)
    note = " ".join(filter(None, [approval, *opinion.notes, remark]))
    return ClearedCall(call=call, definition=definition, arguments=arguments, note=note, plan=plan)


def _begun_plan(
    context: TaskContext, call: OpenCall, definition: ToolDefinition
) -> tuple[Sequence[PlanStep] | None, str]:
    """Return the plan after the step that the call begins, if it names one, or a remark why the plan is unchanged."""
    step = base.plan_step_of(definition, call.call.arguments)
    if step is None or definition.name == "plan":
        return None, ""
    if "plan" not in context.visible.names:
        return None, "plan_step changed nothing: this task has no plan of yours."
    steps = [PlanStep(**step) for step in context.task.plan]
    try:
        plan = begun(steps, step)
    except ToolError as error:
        return None, f"plan_step changed no plan: {error}."
    call.log.add_remark("plan", f"step {sum(step.status == 'done' for step in plan) + 1} begins", 0)
    return (None if plan == steps else plan), ""


def _cut_off(context: TaskContext, call: OpenCall, limit: int) -> Interrupt:
    """Return the interrupt of a call that was cut at the output limit, with advice that fits its tool.

    It ends the task after as many such replies as replies without a call.
    """
    call.log.add_remark("arguments", "refused", 0)
    call.log.fingerprint = _fingerprint_as_written(call)
    length = len(redacted_call(call.call, context.secrets.redactor).arguments)  # as the record has them
    part = f"{length // 200 * 100:,} characters"  # half of it
    if length < _SHORT_ARGUMENTS and call.is_early:
        advice = "send the call once more."
    elif length < _SHORT_ARGUMENTS:
        advice = "think and write less before the call, and send short arguments: a long text in parts, with `file`."
    elif call.call.name == "file":
        advice = f"`write` the first {part}, then `append` parts of at most {part}."
    else:
        advice = (
            f"send shorter arguments. If they are long because of a text, `write` its first {part} with `file`, then "
            f"`append` parts of at most {part}, and refer to the file."
        )
    cut = f"Cut at the limit{f' of {limit:,} tokens' if limit else ''}, nothing was run."
    if call.is_early:
        cut = f"The provider ended your reply long before the limit of {limit:,} tokens; nothing was run."
    sentences = [
        cut,
        f"Your arguments were cut after {length:,} characters: {advice}",
        "" if call.is_early else "Do not send the whole call again: it would be cut again.",
        cut_again(context),
    ]
    text = " ".join(filter(None, sentences))
    refusal = _refusal(context, call, CallStatus.FAILED, text)
    if context.history.retries_in_a_row() >= context.settings.limits.no_tool_call_retries:
        return Failed(FailureCode.NO_TOOL_CALL, CUT_TOO_OFTEN, *refusal.entries)
    return refusal


def _unknown_outcome(context: TaskContext, call: OpenCall) -> Interrupt:
    """Return the interrupt of a call that ran when the server stopped."""
    changes = stage_file_changes(context, context.workspace, call)
    text = "\n".join([UNKNOWN, *file_history.changed_files_note(changes)])
    unknown = _refusal(context, call, CallStatus.UNKNOWN, text)
    unknown.fields["crashes"] = context.task.crashes  # keep the count: the next such call may kill its worker, too
    return unknown


def _resume_delegation(context: TaskContext, call: OpenCall) -> ClearedCall:
    """Return a call whose children have all ended. It was cleared before they began.

    Raises: ReplyNeeded, ChildrenNeeded.
    """
    states = [child.is_active for child in children.of_call(call.log)]
    if not states:
        raise ReplyNeeded()
    if any(states):
        raise ChildrenNeeded()
    definition, arguments = _read_call(context, call)
    return ClearedCall(call=call, definition=definition, arguments=arguments)


def _judge(context: TaskContext, call: OpenCall, definition: ToolDefinition, arguments: Arguments) -> Judgement:
    """Return how dangerous the call is by the policy.

    Raises: Refused if the policy forbids it.
    """
    if not context.settings.policy.is_available(definition, context.visibility):
        raise _refusal(
            context,
            call,
            CallStatus.BLOCKED,
            _unavailable_text(context.settings.policy, definition, context.loaded_groups),
        )
    if reason := context.settings.policy.restrictions.refusal_reason(arguments, context.workspace):
        raise _refusal(context, call, CallStatus.BLOCKED, f"Refused: {reason} Do not try to do this by other means.")
    judgement = context.settings.policy.judge(definition, arguments, context.workspace)
    call.log.danger = judgement.danger.word
    return judgement


def _unavailable_text(policy: Policy, definition: ToolDefinition, loaded: Collection[str]) -> str:
    group = policy.group_of(definition.name)
    if group and group not in loaded and definition.name not in loaded:
        return f"The tool {definition.name} is not loaded. Call load_tools with group {group!r} first."
    return f"The tool {definition.name} is not available here."


def _describe(call: OpenCall, definition: ToolDefinition, arguments: Arguments) -> Call:
    values = arguments.model_dump(mode="json", exclude_none=True)
    return Call(tool=definition.name, arguments=values, danger=call.log.danger, words=call.text)


def _consult_hooks(context: TaskContext, call: OpenCall, described: Call) -> Opinion:
    """Return the hooks' opinion on a call, and on the end of the task if the call would end it.

    Raises: Refused, Aborted.
    """
    try:
        opinion = consult(context, "before_execution", described)
        if not opinion.refusal and described.tool == "message" and described.arguments["type"] == "result":
            opinion = opinion.and_then(consult(context, "before_completion", described))
    except WorkAborted:
        raise _aborted(context, call) from None
    opinion.write_to(call.log, context.secrets.redactor)
    if opinion.refusal:
        metadata = {"refused_by": opinion.refused_by, "code": opinion.code}
        raise _refusal(context, call, CallStatus.BLOCKED, f"Refused by {opinion.words}", **metadata)
    return opinion


def _read_call(context: TaskContext, call: OpenCall) -> tuple[ToolDefinition, Arguments]:
    """Return the tool and its valid arguments, and set the fingerprint to that of their canonical form.

    Values that became secret since the call was written are redacted in its log; the call still runs as written.

    Raises: ToolError, Aborted.
    """
    definition = context.settings.policy.find(call.call.name)
    remarks: list[str] = []
    arguments = base.read_arguments(definition, call.call.arguments, remarks.append)
    if not definition.own_schema:
        arguments = base.with_relative_paths(arguments, context.workspace, remarks.append)
    if remarks:
        call.log.add_remark("coerced", context.secrets.redactor.redacted("; ".join(remarks)), 0)
    if definition.own_schema:
        call.log.fingerprint = _fingerprint_as_written(call)  # for the log if a person interrupts
        arguments = fitted_arguments(definition, arguments, partial(_unless_aborted, context, call))
    canonical = arguments.model_dump(mode="json", exclude_none=True)
    call.log.arguments = _json(context.secrets.redactor.redacted_json(canonical))
    exact = fingerprint(definition.name, canonical)
    call.log.fingerprint = uncounted(exact) if definition.loop_exempt else exact
    return definition, arguments


def _fingerprint_as_written(call: OpenCall) -> str:
    """Return the fingerprint of a call without a canonical form."""
    return fingerprint(call.call.name, call.call.arguments)


def _unless_aborted(context: TaskContext, call: OpenCall, work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on the event loop.

    Raises: Aborted.
    """
    try:
        return context.interruption.run(work)
    except WorkAborted:
        raise _aborted(context, call) from None


def _aborted(context: TaskContext, call: OpenCall) -> Aborted:
    call.log.status = CallStatus.INTERRUPTED
    context.stage(rows=[call.log])
    return Aborted(*call.result("Not run: the user interrupted.", CallStatus.INTERRUPTED))


def _check_repetition(context: TaskContext, call: OpenCall) -> None:
    """Count a call once: a call that comes back from an approval or a crash was counted before.

    Raises: Refused, LoopDetected.
    """
    if call.log.pk is not None:
        return
    last_result = repeated_result(context, call.log.fingerprint)
    call.log.looped = last_result is not None
    context.detector.note(CountedCall(call.log.fingerprint, call.log.call_id, call.log.looped))
    if last_result is None:
        return
    call.log.add_remark("repetition", "refused", 0)
    refusal = _refusal(context, call, CallStatus.BLOCKED, f"{REPEATED}\n{last_result}")
    entries = (*refusal.entries, reminders.loop(call.call.name, context.settings.limits.tool_loop_threshold))
    if context.detector.is_hopeless():
        raise LoopDetected(
            FailureCode.TOOL_LOOP,
            "The agent repeated the same call and found no other way. Tell it how to go on, or rephrase your request.",
            *entries,
        )
    raise Refused(*entries)


def _refusal(context: TaskContext, call: OpenCall, status: CallStatus, text: str, **metadata: str) -> Interrupt:
    """Return the result of a refused call as an interrupt, and remove its stream from people's pages."""
    call.log.status = status
    context.stage(rows=[call.log])
    context.withdraw_stream()
    return Refused(*call.result(text, status, images=(), **metadata), *reminder_of_cycle(context, call))
