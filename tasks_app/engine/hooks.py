"""The hooks of an iteration: their selection, their combined opinion on a call, and their knowledge of the task."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from django.conf import settings

from llm_app.redaction import Redactor
from tasks_app.engine.capabilities.model_access import ModelAccess
from tasks_app.models import Agent, ContextEntry, ContextType, ToolCallLog
from tasks_app.record import notice
from tasks_app.run import TaskContext, UnitOfWork
from tools_app.hooks import (
    BUILTIN,
    OUTPUT_FILTER,
    SAFE_MODE,
    Annotate,
    AskApproval,
    Call,
    Hook,
    HookContext,
    HookSettings,
    PastCall,
    Refuse,
    Verdict,
    hooks_for,
    overrides,
    run_hook,
)

logger = logging.getLogger(__name__)
_SKIPPED = "failed, skipped"
_FAILED = Refuse(reason="this hook failed, so nobody has looked at the call. An administrator finds it in the log.")


@dataclass(kw_only=True)
class Opinion:
    """The combined opinion of the hooks.

    After a refusal, no further hook is asked. `ask` is the reason for an approval.
    """

    refusal: Refuse | None = None
    refused_by: str = ""
    notes: list[str] = field(default_factory=list)
    ask: str = ""
    skipped: list[str] = field(default_factory=list)
    log_lines: list[tuple[str, str, float]] = field(default_factory=list)  # hook, its words, seconds

    def and_then(self, later: "Opinion") -> "Opinion":
        """Return this opinion combined with a later one."""
        notes, ask = [*self.notes, *later.notes], self.ask or later.ask
        log_lines = [*self.log_lines, *later.log_lines]
        return Opinion(refusal=later.refusal, refused_by=later.refused_by, notes=notes, ask=ask, log_lines=log_lines)

    def write_to(self, log: ToolCallLog, redactor: Redactor) -> None:
        for name, summary, seconds in self.log_lines:
            log.add_remark(f"hook {name}", redactor.redacted(summary), seconds)

    @property
    def code(self) -> str:
        return self.refusal.code if self.refusal else ""

    @property
    def words(self) -> str:
        """Return who refused the call, and why."""
        code = f" ({self.code})" if self.code else ""
        return f"{self.refused_by}{code}: {self.refusal.reason}" if self.refusal else ""


def hooks_of(agent: Agent | None, above: Sequence[Agent] = (), *, off_record: bool = False) -> Sequence[Hook]:
    """Return the plugins, then the hooks in the agent's settings, then those that guard the agents `above` it.

    Off the record, safe mode is always on.
    """
    guards = [
        name for agent_above in above for name in agent_above.hooks if name not in BUILTIN or name == OUTPUT_FILTER
    ]
    names = [*(agent.hooks if agent else ()), *guards, *([SAFE_MODE] if off_record else ())]
    own = HookSettings(
        withheld_patterns=[
            pattern for agent_above in (agent, *above) if agent_above for pattern in agent_above.withheld_patterns
        ],
        reviews_by_model=agent is not None and agent.review_model_id is not None,
    )
    return hooks_for(names, own, tuple(settings.HOOKS))


def consult(context: TaskContext, method: str, call: Call, *about: Any) -> Opinion:
    """Ask each hook in turn.

    Raises: WorkAborted when a person interrupts.
    """
    hooks = [hook for hook in context.settings.hooks if overrides(hook, method)]
    if not hooks:
        return Opinion()
    opinion = context.interruption.run(_consult_each(hooks, method, call, *about, hook_context(context)))
    context.stage(*(notice(f"The hook “{name}” failed and was skipped.") for name in opinion.skipped))
    return opinion


async def _consult_each(hooks: Sequence[Hook], method: str, *about: Any) -> Opinion:
    opinion = Opinion()
    for hook in hooks:
        began = time.perf_counter()
        verdict, summary = await _ask_hook(hook, method, *about)
        opinion.log_lines.append((hook.name, summary, time.perf_counter() - began))
        match verdict:
            case Refuse():
                opinion.refusal, opinion.refused_by = verdict, hook.name
                return opinion
            case Annotate():
                opinion.notes.append(f"{hook.name}: {verdict.note}")
            case AskApproval():
                opinion.ask = opinion.ask or f"{hook.name}: {verdict.reason}"
            case None if summary == _SKIPPED:
                opinion.skipped.append(hook.name)
    return opinion


async def _ask_hook(hook: Hook, method: str, *about: Any) -> tuple[Verdict | None, str]:
    """Return the verdict of a hook, and its words for the log.

    A hook that fails before execution, or that filters output, refuses.
    """
    try:
        verdict = await run_hook(hook, method, *about)
    except Exception:
        logger.exception("the hook %s failed", hook.name)
        is_needed = method == "before_execution" or hook.filters_output
        return (_FAILED, "failed") if is_needed else (None, _SKIPPED)
    match verdict:
        case Refuse():
            return verdict, f"refused: {verdict.reason}"
        case Annotate():
            return verdict, f"noted: {verdict.note}"
        case AskApproval():
            return verdict, f"asks for approval: {verdict.reason}"
    return None, "passed"


def hook_context(context: TaskContext) -> HookContext:
    reviewer = context.settings.agent.review_model if context.settings.agent else None
    models = ModelAccess(
        context,
        model=reviewer.name if reviewer else context.model,
        abilities=context.settings.abilities,
        say=lambda text: None,
    )
    return HookContext(
        session=str(context.session.pk),
        task=str(context.task.pk),
        person=context.task.started_by.get_username(),
        request=lambda: _request_text(_newest_first(context)),
        past=lambda: _past_calls(_newest_first(context)),
        ask_model=models.ask,
    )


def _request_text(newest_first: Iterable[ContextEntry]) -> str:
    """Return all messages of the person in this task, oldest first."""
    messages = [entry.content for entry in newest_first if entry.context_type == ContextType.USER_MESSAGE]
    return "\n\n".join(reversed(messages))


def _past_calls(newest_first: Iterable[ContextEntry]) -> Sequence[PastCall]:
    """Return the calls that have a result, oldest first."""
    calls, result = [], None
    for entry in newest_first:
        if entry.tool_call_id:
            result = entry
        elif entry.call and result is not None and result.tool_call_id == entry.call["id"]:
            past_call = PastCall(
                tool=entry.call["name"],
                arguments=entry.arguments if isinstance(entry.arguments, dict) else {},
                status=str(result.metadata.get("status", "")),
                content=result.content,
                refused_by=str(result.metadata.get("refused_by", "")),
            )
            calls.append(past_call)
    return calls[::-1]


def _newest_first(unit: UnitOfWork) -> Iterator[ContextEntry]:
    """Yield the entries of this task, which are the last ones of its session."""
    return takewhile(lambda entry: entry.task_id == unit.task.pk, reversed(unit.history.entries))
