"""The application of a compaction plan: a move of the cut, stored in one transaction with the notices about it."""

import math
from dataclasses import replace

from llm_app.call import TargetModel
from llm_app.models import Blob
from tasks_app.engine.compaction import summary
from tasks_app.engine.compaction.plan import CutPlanner, Move, Strategies
from tasks_app.engine.compaction.summary import line_of
from tasks_app.engine.compaction.window import Measured, Window, measure
from tasks_app.models import Agent, Cause, ContextCut, ContextEntry, FailureCode
from tasks_app.record import Cut, Draft, notice, redact_entry, tokens
from tasks_app.run import Failed, TaskContext, UnitOfWork
from tools_app.contract import compact_line


def make_room(context: TaskContext, recipient: TargetModel, cause: Cause, summed_up: Draft | None = None) -> bool:
    """Move the cut of the recipient's window. Return whether it moved.

    `summed_up` is a model's summary of the cut turns, if one was requested.

    Raises: Failed if the newest turn alone is too long.
    """
    measured, record = measure(context, recipient), _redacted_record(context)
    planner = _planner(context.settings.agent, measured, cause, is_summed_up=summed_up is not None)
    move = planner.move(record, measured.conversation.cut)
    if move.size > measured.window.guard:
        raise _overflow(measured.window)
    cut, current = move.cut.redacted(context.secrets.redactor), measured.conversation.cut
    if (cut.seq, cut.text) == (current.seq, current.text):
        return False
    row = ContextCut(
        session=context.session,
        task=context.task,
        window=recipient.context_window,
        seq=cut.seq,
        masked_with=cut.masked_with,
        cause=cause,
        tokens_before=measured.window.head + measured.length,
        tokens_after=measured.window.head + move.size,
    )
    _store(context, row, cut, [*([summed_up] if summed_up else []), *_notices(row, move)])
    return True


def entries_to_cut(context: TaskContext, recipient: TargetModel) -> list[ContextEntry]:
    """Return the entries that a move with a summary would remove; none if shorter views are enough."""
    measured, record = measure(context, recipient), _redacted_record(context)
    current = measured.conversation.cut
    move = _planner(context.settings.agent, measured, Cause.FILLED, is_summed_up=True).move(record, current)
    return [entry for entry in record if current.seq < entry.seq <= move.cut.seq]


def _planner(agent: Agent | None, measured: Measured, cause: Cause, *, is_summed_up: bool) -> CutPlanner:
    window = measured.window
    if is_summed_up:
        window = replace(
            window, head=window.head + math.ceil(summary.LONGEST / tokens.BYTES_PER_TOKEN * measured.factor)
        )
    if cause == Cause.REFUSED:  # the provider's window is smaller than configured
        size = min(window.size, window.head + measured.length)
        window = replace(window, size=size, reserve=min(window.reserve, measured.length // 4))
    strategies = Strategies(
        prunes=agent is not None and agent.prune_outputs,
        shortens=agent is not None and agent.shorten_results,
        is_summed_up=is_summed_up,
    )
    return CutPlanner(window=window, factor=measured.factor, template=compact_line, strategies=strategies)


def _store(unit: UnitOfWork, row: ContextCut, cut: Cut, drafts: list[Draft]) -> None:
    def store_row() -> None:
        row.blob = Blob.store(cut.text)
        row.save()

    unit.commit(*drafts, extra_write=store_row)
    unit.history.set_cut(row.window, cut)


def _notices(row: ContextCut, move: Move) -> list[Draft]:
    shown_as = f"all up to entry {row.seq} as an outline" if row.seq else "old results in a shorter form"
    text = (
        f"The conversation had grown to {row.tokens_before:,} of the {row.window:,} tokens that the model can read. "
        f"From here on it gets {shown_as}, {row.tokens_after:,} tokens in all. The record keeps everything."
    )
    notices = [notice(text, kind="cut", cut=row.seq)]
    if move.too_big is not None:
        first, line = move.too_big.entries[0], line_of(move.too_big, compact_line)
        text = (
            f"Entry {first.seq} is so long that all before it had to be cut short to make room for it: "
            f"{' '.join((line.short or line.text).split())[:200]}"
        )
        notices.append(notice(text, kind="too_big"))
    return notices


def too_small(window: Window) -> Failed:
    """Return the failure for a window in which no task can work."""
    text = (
        f"The model reads {window.size:,} tokens, and the instructions, the tools and its reply alone take "
        f"{window.head + window.reserve:,}. Choose a model with a larger window."
    )
    return Failed(FailureCode.CONTEXT_OVERFLOW, text)


def _overflow(window: Window) -> Failed:
    if window.is_too_small:
        return too_small(window)
    text = (
        "The newest message or tool call alone is longer than the model can read. Say it in less, or choose a model "
        "with a larger window."
    )
    return Failed(FailureCode.CONTEXT_OVERFLOW, text)


def _redacted_record(unit: UnitOfWork) -> list[ContextEntry]:
    """Redacted before anything is cut out of it: a half of a secret is not found any more."""
    redactor = unit.secrets.redactor
    return [redact_entry(entry, redactor) for entry in unit.history.record()]
