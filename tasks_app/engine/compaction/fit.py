"""Old turns become lines, so that the rest fits. Deterministic, without an LLM, and never inside a turn."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tasks_app.engine.compaction.lines import Line, Template, line_of, merged
from tasks_app.models import ContextEntry
from tasks_app.record import Turn

Size = Callable[[str], int]
ABOUT = (
    "<about>The beginning of this conversation, cut to its outline: people's words, your results, and a line for each "
    "step. `recall` gives back a whole result by its number n.</about>"
)


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """`block` replaces all turns up to the entry `cut_seq`; what follows stays as it is.

    `size` is that of both in tokens, `tail` that of what follows; `has_dropped`: of the oldest turns not even a line
    is left.
    """

    block: str
    cut_seq: int
    size: int = 0
    tail: int = 0
    has_dropped: bool = False


def compact(
    turns: Sequence[Turn[ContextEntry]],
    *,
    sizes: Sequence[int],
    tail_room: int,
    room: int,
    size: Size,
    template: Template,
    is_summed_up: bool = False,
) -> Compacted:
    """Keeps the newest turns within `tail_room` tokens (the last one in any case); the older ones become the block.

    `sizes` are the turns' tokens. `room` is what block and tail may take together; to get there, first the steps
    lose what came of them, then older words lose their middle, then runs of steps are only counted, then the newest
    message is shortened too, then the oldest lines go. The block alone never
    takes more than what the tail leaves of `room`. Steps that a model has summed up are counted only.
    """
    kept = _tail(sizes, tail_room)
    old = turns[: len(turns) - kept]
    lines = [line_of(turn, template) for turn in old]
    if is_summed_up:
        lines = _merged_runs(lines)
    tail = sum(sizes[len(old) :])
    block, has_dropped = _fit(lines, lambda block: size(block) <= max(0, room - tail))
    cut_seq = old[-1].entries[-1].seq if old else 0
    return Compacted(block=block, cut_seq=cut_seq, size=size(block) + tail, tail=tail, has_dropped=has_dropped)


def _tail(sizes: Sequence[int], room: int) -> int:
    """How many of the newest turns fit; at least one."""
    kept, total = 0, 0
    for size in reversed(sizes):
        total += size
        if kept and total > room:
            break
        kept += 1
    return kept


def _fit(lines: Sequence[Line], fits: Callable[[str], bool]) -> tuple[str, bool]:
    """The richest block that fits, and whether lines are gone: each way gives up no more than it must, oldest first."""
    for give_up in (_with_signatures, _with_shortened, _with_merged, _with_dropped):
        least = _least(len(lines), lambda count: fits(_block(give_up(lines, count))))  # noqa: B023  used at once
        if least is not None:
            return _block(give_up(lines, least)), give_up is _with_dropped and least > 0
    return _block(_with_dropped(lines, len(lines))), bool(lines)


def _least(most: int, enough: Callable[[int], bool]) -> int | None:
    """The smallest count from 0 to `most` that is enough; more is never worse than less."""
    found = bisect_left(range(most + 1), True, key=enough)
    return found if found <= most else None


def _with_signatures(lines: Sequence[Line], count: int) -> list[Line]:
    """The steps among the oldest `count` lines say what was done, and no more what came of it."""
    return [_short(line) if line.is_step else line for line in lines[:count]] + list(lines[count:])


def _with_shortened(lines: Sequence[Line], count: int) -> list[Line]:
    """All steps are signatures, and the words in the oldest `count` lines keep head and tail; but not those of the
    person's newest message, which say what is to be done.
    """
    order = next((n for n in reversed(range(len(lines))) if lines[n].is_persons), None)
    return [_short(line) if line.is_step or (n < count and n != order) else line for n, line in enumerate(lines)]


def _with_merged(lines: Sequence[Line], count: int) -> list[Line]:
    """All other words are short, and runs of steps among the oldest `count` lines are one line each."""
    short = _with_shortened(lines, len(lines))
    return [*_merged_runs(short[:count]), *short[count:]]


def _merged_runs(lines: Sequence[Line]) -> list[Line]:
    out: list[Line] = []
    for is_step, run in groupby(lines, key=lambda line: line.is_step):
        members = list(run)
        out += [merged(members)] if is_step and len(members) > 1 else members
    return out


def _short(line: Line) -> Line:
    return replace(line, text=line.short or line.text)


def _with_dropped(lines: Sequence[Line], count: int) -> list[Line]:
    """All words are short, and the oldest `count` lines are gone; one line says so."""
    rest = _merged_runs(list(map(_short, lines[count:])))
    if not count:
        return rest
    text = f'<omitted from="{lines[0].first}" to="{lines[count - 1].last}">recall by number</omitted>'
    return [Line(text=text, first=lines[0].first, last=lines[count - 1].last), *rest]


def _block(lines: Sequence[Line]) -> str:
    inside = "\n".join(line.text for line in lines)
    return f"<compacted_history>\n{ABOUT}\n{inside}\n</compacted_history>" if lines else ""
