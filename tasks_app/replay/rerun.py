"""A recorded task runs again against its recorded answers, without a model and without its tools.

What is compared: each request (system prompt, tool list, bytes) with the one that the engine would send now, and each
entry that the engine makes of an answer: the call, a refusal, a reminder. What people wrote, what tools gave, and where
the cut stood is taken from the record. Nothing is written.
"""

from collections import defaultdict
from dataclasses import dataclass

from llm_app.models import LLMLog
from llm_app.types import Purpose
from tasks_app.engine import reply
from tasks_app.engine.check_call import before_execution
from tasks_app.engine.observer import LLMObserver
from tasks_app.interaction.open_call import OpenCall
from tasks_app.models import ContextEntry, ContextType, Task
from tasks_app.models.tool_call import CallStatus
from tasks_app.replay.comparison import Comparison
from tasks_app.replay.recorded import Divergence, turn_of
from tasks_app.replay.rerun_context import RerunContext
from tasks_app.run.interrupts import ApprovalNeeded, Interrupt, ReplyNeeded


@dataclass(kw_only=True)
class Rerun:
    """How far it went. `divergence` names the first difference; empty if there was none."""

    requests: int = 0
    entries: int = 0
    divergence: str = ""

    def __str__(self) -> str:
        done = f"{self.requests} requests and {self.entries} entries as recorded"
        return f"{done}, then: {self.divergence}." if self.divergence else f"{done}. No divergence."


def rerun(task: Task) -> Rerun:
    context = RerunContext(task)
    before, outcome = len(context.history.entries), Rerun()
    sent = _by_place(task)
    compare = Comparison(context)
    try:
        while True:
            for log in sent.pop(context.history.last_seq, ()):
                compare(log)
                outcome.requests += 1
            if (entry := context.recorded.next) is None:
                break
            _step(context, entry)
    except Divergence as divergence:
        outcome.divergence = str(divergence)
    outcome.entries = len(context.history.entries) - before
    return outcome


def _by_place(task: Task) -> defaultdict[int, list[LLMLog]]:
    """The attempts of each step, by the newest entry that they saw."""
    found: defaultdict[int, list[LLMLog]] = defaultdict(list)
    for log in LLMLog.objects.filter(task_id=task.pk, purpose=Purpose.STEP).order_by("created_at"):
        found[log.last_seq].append(log)
    return found


def _step(context: RerunContext, entry: ContextEntry) -> None:
    """A reply goes through the engine; anything else came from outside."""
    if entry.call is None and entry.context_type != ContextType.NO_TOOL_CALL_RETRY:
        context.given()
        if entry.context_type == ContextType.USER_MESSAGE:
            context.detector.forget()
        return
    call: OpenCall | None = None
    try:
        call = reply.first_call(context, turn_of(entry, context.recorded.peek(1)), LLMObserver(context), "")
        before_execution(context, call)
        context.commit()
        _answered(context, call)
    except Interrupt as interrupt:
        context.commit(*interrupt.entries, **interrupt.fields)
        if call and isinstance(interrupt, ApprovalNeeded | ReplyNeeded):
            _answered(context, call)


def _answered(context: RerunContext, call: OpenCall) -> None:
    """Takes the recorded result; what the engine says right after it is compared."""
    result = context.recorded.next
    if result is None or result.tool_call_id != call.call.id:
        return  # it waits still
    was_refused = result.metadata.get("status") == CallStatus.BLOCKED
    if was_refused and not result.metadata.get("refused_by") and not context.task.workflow:
        raise Divergence(f"entry {result.seq} was a refusal “{result.content}”, and now the call would run")
    context.given()
    _, *following = call.result(result.content, CallStatus.SUCCEEDED)
    context.commit(*following)
