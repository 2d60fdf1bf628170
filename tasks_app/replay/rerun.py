"""A second run of a recorded task against its recorded answers, without a model and without tools.

It compares each request (system prompt, tool list, bytes) with the one that the engine would now send, and each entry
that the engine makes of an answer: call, refusal or reminder. People's messages, tool results and cuts are taken from
the record. Nothing is written.
"""

import difflib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from llm_app.adapters import RouteParameters
from llm_app.models import Blob, LLMLog
from llm_app.protocols import adapter_for
from llm_app.stored_prompt import dump_tools, load_tools
from llm_app.types import Prompt, Purpose, ToolSpec
from tasks_app.engine import check_call, reply
from tasks_app.engine.observer import LLMObserver
from tasks_app.engine.prompt import build
from tasks_app.models import CallStatus, ContextEntry, ContextType, Task
from tasks_app.replay.recorded import Divergence, turn_of
from tasks_app.replay.requests import NotRebuilt, SessionRequests, is_as_sent
from tasks_app.replay.rerun_context import RerunContext
from tasks_app.run import ApprovalNeeded, Interrupt, ReplyNeeded
from tasks_app.run.open_call import OpenCall


@dataclass(kw_only=True)
class Rerun:
    """The result of a second run. `divergence` names the first difference, or is empty."""

    requests: int = 0
    entries: int = 0
    divergence: str = ""

    def __str__(self) -> str:
        done = f"{self.requests} requests and {self.entries} entries as recorded"
        return f"{done}, then: {self.divergence}." if self.divergence else f"{done}. No divergence."


def rerun(task: Task) -> Rerun:
    context = RerunContext(task)
    length_before, outcome = len(context.history.entries), Rerun()
    attempts: defaultdict[int, list[LLMLog]] = defaultdict(list)  # by the newest entry that they saw
    for log in LLMLog.objects.filter(task_id=task.pk, purpose=Purpose.STEP).order_by("created_at"):
        attempts[log.last_seq].append(log)
    compare = Comparison(context)
    try:
        while True:
            for log in attempts.pop(context.history.last_seq, ()):
                compare(log)
                outcome.requests += 1
            if (entry := context.recorded.next) is None:
                break
            _step(context, entry)
    except Divergence as divergence:
        outcome.divergence = str(divergence)
    outcome.entries = len(context.history.entries) - length_before
    return outcome


def _step(context: RerunContext, entry: ContextEntry) -> None:
    """Pass a reply through the engine. Accept any other entry as it was recorded."""
    if entry.call is None and entry.context_type != ContextType.NO_TOOL_CALL_RETRY:
        context.accept_recorded()
        if entry.context_type == ContextType.USER_MESSAGE:
            context.detector.forget()
        return
    call: OpenCall | None = None
    try:
        observer = LLMObserver(context, streams_text=False)
        turn = turn_of(entry, context.recorded.peek(1))
        limit, used = _output_limit(entry) if turn.is_cut else (0, 0)
        call = reply.stage_first_call(context, turn, observer, "", limit, used)
        check_call.check(context, call)
        context.commit()
        _accept_result(context, call)
    except Interrupt as interrupt:
        context.commit(*interrupt.entries, **interrupt.fields)
        if call and isinstance(interrupt, ApprovalNeeded | ReplyNeeded):
            _accept_result(context, call)


def _output_limit(entry: ContextEntry) -> tuple[int, int]:
    """Return the output limit and the used tokens of the request that this entry answers; 0 if its log is gone."""
    log = LLMLog.objects.filter(pk=entry.metadata.get("llm_call")).first()
    return (int(log.parameters["max_tokens"]), log.output_tokens) if log else (0, 0)


def _accept_result(context: RerunContext, call: OpenCall) -> None:
    """Accept the recorded result, and compare the engine's entries that follow it."""
    result = context.recorded.next
    if result is None or result.tool_call_id != call.call.id:
        return  # still waiting
    was_refused = result.metadata.get("status") == CallStatus.BLOCKED
    if was_refused and not result.metadata.get("refused_by") and not context.task.workflow:
        raise Divergence(f"entry {result.seq} was a refusal “{result.content}”, and now the call would run")
    context.accept_recorded()
    _, *following = call.result(result.content, CallStatus.SUCCEEDED)
    context.commit(*following)


class Comparison:
    """The comparison of a task's requests. Raises Divergence for the first different request."""

    def __init__(self, context: RerunContext) -> None:
        self._context = context
        self._requests = SessionRequests.for_session(context.session)

    def __call__(self, log: LLMLog) -> None:
        adapter, location = adapter_for(log.adapter), f"step {log.iteration} (call {log.pk})"
        head = self._head(log)
        if self._context.blob(head.system) != log.system_blob:
            changed = _first_line(_blob(log.system_blob), head.system)
            raise Divergence(f"{location} has another system prompt now: {changed}")
        if head.tools and self._context.blob(dump_tools(head.tools)) != log.tools_blob:
            raise Divergence(f"{location} has another tool list now: {_tools_that_differ(log, head.tools)}")
        try:
            sent = self._requests.prompt(log)
        except NotRebuilt as error:
            raise Divergence(f"{location} cannot be rebuilt: {error}") from error
        new_prompt = Prompt(system=head.system, tools=head.tools, messages=sent.messages)
        if not is_as_sent(log, adapter.body(new_prompt, RouteParameters.from_json(log.parameters))):
            raise Divergence(f"{location} has other bytes now: {log.adapter} writes it differently")

    def _head(self, log: LLMLog) -> Prompt:
        """Return system prompt and tools in the form that was recorded, or else the recorded tools."""
        mode, address, heads = adapter_for(log.adapter).tool_mode, self._context.blob, []
        max_tokens = log.parameters["max_tokens"]
        for is_brief in (False, True):
            heads.append(head := build.build(self._context, mode, max_tokens, is_brief=is_brief).prompt)
            if (address(head.system), address(dump_tools(head.tools))) == (log.system_blob, log.tools_blob):
                return head
        return next((head for head in heads if address(dump_tools(head.tools)) == log.tools_blob), heads[0])


def _first_line(old: str, new: str) -> str:
    """Return the first different line, old and new."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[3:5]
    return " / ".join(line[:120] for line in lines)


def _tools_that_differ(log: LLMLog, new_tools: Sequence[ToolSpec]) -> str:
    old = {tool.name: tool for tool in load_tools(_blob(log.tools_blob) or "[]")}
    new = {tool.name: tool for tool in new_tools}
    removed, added = old.keys() - new.keys(), new.keys() - old.keys()
    changed = {name for name in old.keys() & new.keys() if _json(old[name]) != _json(new[name])}
    parts = {"gone": removed, "new": added, "described differently": changed}
    return "; ".join(f"{label}: {', '.join(sorted(names))}" for label, names in parts.items() if names) or "its order"


def _json(tool: ToolSpec) -> bytes:
    return orjson.dumps([tool.description, dict(tool.parameters)])


def _blob(address: str) -> str:
    return Blob.objects.filter(pk=address).values_list("content", flat=True).first() or ""
