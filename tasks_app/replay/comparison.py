"""A request as the engine would make it now, beside the one that was sent."""

import difflib
from collections.abc import Sequence
from itertools import product

import orjson

from llm_app.adapters.base import RouteParameters
from llm_app.models import Blob, LLMLog
from llm_app.protocols import adapter_for
from llm_app.stored_prompt import tools_in, tools_text
from llm_app.types import Prompt, ToolSpec
from tasks_app.engine.prompt import build
from tasks_app.replay.faults import NotRebuilt
from tasks_app.replay.recorded import Divergence
from tasks_app.replay.requests import SessionRequests, is_as_sent
from tasks_app.replay.rerun_context import RerunContext


class Comparison:
    """Of all requests of one task. Raises Divergence for the first that is another one."""

    def __init__(self, context: RerunContext) -> None:
        self._context = context
        self._requests = SessionRequests.of(context.session)

    def __call__(self, log: LLMLog) -> None:
        adapter, where = adapter_for(log.adapter), f"step {log.iteration} (call {log.pk})"
        head = self._head(log)
        if self._context.blob(head.system) != log.system_blob:
            changed = _first_line(_blob(log.system_blob), head.system)
            raise Divergence(f"{where} has another system prompt now: {changed}")
        if head.tools and self._context.blob(tools_text(head.tools)) != log.tools_blob:
            raise Divergence(f"{where} has another tool list now: {_tools_that_differ(log, head.tools)}")
        try:
            sent = self._requests.prompt(log)
        except NotRebuilt as error:
            raise Divergence(f"{where} cannot be rebuilt: {error}") from error
        now = Prompt(system=head.system, tools=head.tools, messages=sent.messages)
        if not is_as_sent(log, adapter.body(now, RouteParameters.from_json(log.parameters))):
            raise Divergence(f"{where} has other bytes now: {log.adapter} writes it differently")

    def _head(self, log: LLMLog) -> Prompt:
        """System prompt and tools, in the surroundings that fit what was recorded, or else its tools."""
        mode, address, heads = adapter_for(log.adapter).tool_mode, self._context.blob, []
        for self._context.has_open_page, self._context.has_cut in product((False, True), repeat=2):
            heads.append(head := build.build(self._context, mode))
            if (address(head.system), address(tools_text(head.tools))) == (log.system_blob, log.tools_blob):
                return head
        return next((head for head in heads if address(tools_text(head.tools)) == log.tools_blob), heads[0])


def _first_line(was: str, now: str) -> str:
    """The first line that differs, as it was and as it is."""
    lines = list(difflib.unified_diff(was.splitlines(), now.splitlines(), n=0, lineterm=""))[3:5]
    return " / ".join(line[:120] for line in lines)


def _tools_that_differ(log: LLMLog, now: Sequence[ToolSpec]) -> str:
    was = {tool.name: tool for tool in tools_in(_blob(log.tools_blob) or "[]")}
    is_now = {tool.name: tool for tool in now}
    gone, new = was.keys() - is_now.keys(), is_now.keys() - was.keys()
    changed = {name for name in was.keys() & is_now.keys() if _json(was[name]) != _json(is_now[name])}
    parts = {"gone": gone, "new": new, "described differently": changed}
    return "; ".join(f"{what}: {', '.join(sorted(names))}" for what, names in parts.items() if names) or "its order"


def _json(tool: ToolSpec) -> bytes:
    return orjson.dumps([tool.description, dict(tool.parameters)])


def _blob(address: str) -> str:
    return Blob.objects.filter(pk=address).values_list("content", flat=True).first() or ""
