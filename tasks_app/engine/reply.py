"""The reading of a model's reply: the call that runs, or the consequence of a missing one."""

import json
import re
from collections.abc import Set
from dataclasses import replace
from uuid import uuid4

from django.utils.translation import gettext_noop

from llm_app.types import LLMTurnResult, ToolCall
from tasks_app.engine.observer import LLMObserver
from tasks_app.models import CallStatus, ContextType, FailureCode, ToolCallLog
from tasks_app.record import Draft
from tasks_app.run import Failed, NoToolCall, StepSettings, TaskContext, reminders
from tasks_app.run.open_call import OpenCall

_EARLY = 4  # a limit is reached with all of its tokens, not with a fourth of them
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


CUT_TOO_OFTEN = gettext_noop(
    "The model's replies were cut at the output limit, even after several reminders. Ask for less at once, or ask an "
    "administrator to raise the limit."
)


def stage_first_call(
    context: TaskContext, turn: LLMTurnResult, observer: LLMObserver, log_id: str, limit: int = 0, used: int = 0
) -> OpenCall:
    """Stage the assistant's entry with the first call of its reply. The other calls are deferred.

    `limit` is the output limit of the request, in tokens; `used` are the tokens of the reply, 0 if unknown.

    Raises: NoToolCall, Failed.
    """
    if not turn.tool_calls:
        raise _no_call(context, turn, observer, turn.content, turn.unreadable, log_id, limit, used)
    written, *further_calls = turn.tool_calls
    first = replace(written, name=context.settings.policy.meant_name(written.name))
    if reason := _unreadable_reason(first, turn):
        text = f"{turn.content}\n{first.name}({first.arguments})".strip()
        raise _no_call(context, turn, observer, text, reason, log_id, limit, used)
    is_cut = _has_reached_limit(turn, limit) and not further_calls and not _is_object(first.arguments)
    call = _with_unique_id(first, context.history.call_ids)
    deferred = [f"{further_call.name}({further_call.arguments})" for further_call in further_calls]
    metadata: dict[str, object] = {"stream": observer.stream.id, "llm_call": log_id}
    if turn.origin != "native":  # the call was part of the reply's text
        metadata["origin"] = turn.origin
    metadata |= _filter_mark(context.settings)
    if first.name != written.name:
        metadata["called_as"] = written.name[:100]
    if deferred:
        metadata["deferred"] = deferred
    draft = Draft(
        context_type=ContextType.AI_MESSAGE if call.name == "message" else ContextType.TOOL_CALL,
        content=turn.content,
        thinking=turn.thinking,
        tool_call=call,
        is_cut=is_cut,
        metadata=metadata,
    )
    log = ToolCallLog(
        task=context.task,
        session_id=context.session.id,
        call_id=call.id,
        name=call.name,
        status=CallStatus.PENDING,
    )
    context.stage(draft, rows=[log], calls_made=context.task.calls_made + (call.name != "message"))
    context.live_stream = observer.stream
    return OpenCall(
        call=call,
        log=log,
        deferred=deferred,
        text=turn.content,
        cut_at=limit if is_cut else None,
        is_early=is_cut and _is_early(used, limit),
    )


def _is_early(used: int, limit: int) -> bool:
    """Return whether a cut reply is so short that the output limit is not the reason. Its provider ended it."""
    return 0 < used * _EARLY < limit


def cut_again(context: TaskContext) -> str:
    """Return the warning for a cut reply after another one, or ''."""
    earlier = context.history.retries_in_a_row()
    remaining = context.settings.limits.no_tool_call_retries - earlier
    if not earlier or remaining <= 0:
        return ""
    if remaining == 1:
        return "Cut again: the next such reply ends the task as failed."
    return f"Cut again: {remaining} more such replies and the task fails."


def _has_reached_limit(turn: LLMTurnResult, limit: int) -> bool:
    """Return whether a reply was cut. Some servers end a call that used up all tokens with the reason of a whole one.

    Source: github.com/vllm-project/vllm/issues/53269.
    """
    return turn.is_cut or 0 < limit <= turn.usage.output_tokens


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _filter_mark(settings: StepSettings) -> dict[str, object]:
    """Mark the entry if an output filter was on: pages never show what it withheld."""
    return {"output_filter": True} if settings.filters_output else {}


def _unreadable_reason(call: ToolCall, turn: LLMTurnResult) -> str:
    """Return the reason why a call is unreadable, or ''. Arguments that are not valid JSON are checked later."""
    if not _NAME.fullmatch(call.name):
        return f"{call.name[:100]!r} is not a valid tool name."
    if not call.arguments and not turn.finish_reason:
        return "your reply ended before its arguments; write {} where there are none."
    return ""


def _with_unique_id(call: ToolCall, taken: Set[str]) -> ToolCall:
    """Return the call with its provider's id, or with a new one if that is missing, malformed or taken."""
    is_usable = _NAME.fullmatch(call.id) and call.id not in taken
    return ToolCall(
        id=call.id if is_usable else f"call_{uuid4().hex[:24]}", name=call.name, arguments=call.arguments or "{}"
    )


def _no_call(
    context: TaskContext,
    turn: LLMTurnResult,
    observer: LLMObserver,
    written: str,
    unreadable: str,
    log_id: str,
    limit: int,
    used: int,
) -> NoToolCall | Failed:
    """Return the interrupt with the words as written and a reminder, or the end of the task after the last reminder.

    `unreadable` is the reason why a call could not be read, if there was one.
    """
    observer.stream.withdraw()
    is_cut = _has_reached_limit(turn, limit)
    discarded = Draft(
        context_type=ContextType.NO_TOOL_CALL_RETRY,
        content=written,
        thinking=turn.thinking,
        is_cut=is_cut,
        metadata={
            "stream": observer.stream.id,
            "llm_call": log_id,
            "error_type": "malformed_tool_call" if unreadable else "missing_tool_call",
        }
        | _filter_mark(context.settings),
    )
    remaining = context.settings.limits.no_tool_call_retries - context.history.retries_in_a_row() - 1
    if remaining < 0:
        if is_cut:
            return Failed(FailureCode.NO_TOOL_CALL, CUT_TOO_OFTEN, discarded)
        return Failed(
            FailureCode.NO_TOOL_CALL,
            "The model answered without a tool call, even after several reminders. Try again, or choose another model.",
            discarded,
        )
    if is_cut:
        return NoToolCall(discarded, reminders.cut_reply(limit, cut_again(context), is_early=_is_early(used, limit)))
    return NoToolCall(
        discarded, reminders.unreadable_call(unreadable) if unreadable else reminders.missing_call(remaining)
    )
