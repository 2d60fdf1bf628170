"""The plan of a compaction: the new cut, and the shorter forms of old turns and results.

Pure and deterministic, without an LLM: the same record and figures give the same bytes. A turn is never split.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from tasks_app.engine.compaction.summary import Line, Template, joined_readings, line_of, merged, plan_line
from tasks_app.engine.compaction.window import Window
from tasks_app.models import ContextEntry, ContextType
from tasks_app.record import Cut, Turn, tokens
from tasks_app.record.turns import group

Size = Callable[[str], int]
LONGEST_TITLE, SHORT_TITLE = 200, 40  # characters of a plan's step; short when whole lines must go
ABOUT = (
    "<about>The beginning of this conversation as an outline: people's words, your results, and a line for each "
    "step. `recall` gives back a whole result by its number n.</about>"
)


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """A compacted conversation: `block` replaces all turns up to the entry `cut_seq`; later ones stay unchanged.

    `size` is the size of both in tokens, `tail` that of the later turns. `has_dropped`: the oldest turns have lost even
    their lines. `has_lost_message`: one of them is the person's newest message.
    """

    block: str
    cut_seq: int
    size: int = 0
    tail: int = 0
    has_dropped: bool = False
    has_lost_message: bool = False


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
    """Keep the newest turns within `tail_room` tokens, but always the last one, and compact the older ones.

    `sizes` are the turns' tokens. `room` is the limit for block and tail together. To meet it, the block gives up, in
    this order: the outcomes of steps, the middle of older words, the agent's sentences, the lines of single steps in
    favor of counts, the middle of the newest message, the oldest lines. The block alone never takes more than the tail
    leaves of `room`.
    Steps that a model has summed up are only counted.
    """
    tail_count = _tail(sizes, tail_room)
    old_turns = turns[: len(turns) - tail_count]
    lines = joined_readings([line_of(turn, template) for turn in old_turns])
    if is_summed_up:
        lines = _merged_runs(lines)
    tail = sum(sizes[len(old_turns) :])
    plans = (plan_line(old_turns, LONGEST_TITLE), plan_line(old_turns, SHORT_TITLE))
    block, has_dropped = _fit(lines, plans, lambda block: size(block) <= max(0, room - tail))
    bare = [_block(_with_omitted(lines, len(lines), []), plan) for plan in (plans[1], "")]
    cut_seq = old_turns[-1].entries[-1].seq if old_turns else 0
    return Compacted(
        block=block,
        cut_seq=cut_seq,
        size=size(block) + tail,
        tail=tail,
        has_dropped=has_dropped,
        has_lost_message=block in bare and any(line.is_persons for line in lines),
    )


def _tail(sizes: Sequence[int], room: int) -> int:
    """Return how many of the newest turns fit, at least one."""
    count, total = 0, 0
    for size in reversed(sizes):
        total += size
        if count and total > room:
            break
        count += 1
    return count


def _fit(lines: Sequence[Line], plans: tuple[str, str], fits: Callable[[str], bool]) -> tuple[str, bool]:
    """Return the richest block that fits, and whether lines were dropped.

    Each way gives up only what it must, oldest first. The plan stays, at last with short titles, unless nothing fits.
    """
    full, short = plans
    for reduce in (_without_outcomes, _with_shortened, _without_sentences, _with_merged, _with_dropped):
        plan = short if reduce is _with_dropped else full
        # Reducing more lines never makes the block larger, so the smallest count that fits is found by bisection.
        count = bisect_left(range(len(lines) + 1), True, key=lambda n: fits(_block(reduce(lines, n), plan)))
        if count <= len(lines):
            return _block(reduce(lines, count), plan), reduce is _with_dropped and count > 0
    bare = _with_omitted(lines, len(lines), [])
    return next(filter(fits, [_block(bare, short)]), _block(bare, "")), bool(lines)


def _without_outcomes(lines: Sequence[Line], count: int) -> list[Line]:
    """Return the lines without the outcomes of the steps among the oldest `count` lines."""
    return [*map(_brief, lines[:count]), *lines[count:]]


def _with_shortened(lines: Sequence[Line], count: int) -> list[Line]:
    """Return the lines without outcomes, and with shortened words in the oldest `count` lines.

    The person's newest message is not shortened, as it says what to do.
    """
    newest_message = next((n for n in reversed(range(len(lines))) if lines[n].is_persons), None)
    return [
        _brief(line) if line.is_step else _short(line) if n < count and n != newest_message else line
        for n, line in enumerate(lines)
    ]


def _without_sentences(lines: Sequence[Line], count: int) -> list[Line]:
    """Return the lines with shortened words, and without the agent's sentences in the oldest `count` lines."""
    brief = _with_shortened(lines, len(lines))
    return [_short(line) if line.is_step else line for line in brief[:count]] + brief[count:]


def _with_merged(lines: Sequence[Line], count: int) -> list[Line]:
    """Return the lines with all words shortened, and each run of steps among the oldest `count` lines merged."""
    short = _without_sentences(lines, len(lines))
    return [*_merged_runs(short[:count]), *short[count:]]


def _merged_runs(lines: Sequence[Line]) -> list[Line]:
    result: list[Line] = []
    for is_step, run in groupby(lines, key=lambda line: line.is_step):
        members = list(run)
        result += [merged(members)] if is_step and len(members) > 1 else members
    return result


def _brief(line: Line) -> Line:
    return replace(line, text=line.brief or line.text) if line.is_step else line


def _short(line: Line) -> Line:
    return replace(line, text=line.short or line.text)


def _with_dropped(lines: Sequence[Line], count: int) -> list[Line]:
    """Return the lines with all words shortened, and one line in place of the oldest `count` lines.

    The person's newest message stays, as it says what to do.
    """
    rest = _merged_runs(list(map(_short, lines[count:])))
    if not count:
        return rest
    newest_message = max((n for n, line in enumerate(lines) if line.is_persons), default=-1)
    kept = [_short(lines[newest_message])] if 0 <= newest_message < count else []
    return [*_with_omitted(lines, count, kept), *rest]


def _with_omitted(lines: Sequence[Line], count: int, kept: Sequence[Line]) -> list[Line]:
    """Return a line in place of the oldest `count` lines, which tells whether it hides words of the person, and the
    kept ones.
    """
    if not count:
        return []
    has_words = sum(line.is_persons for line in lines[:count]) > len(kept)
    contents = "steps and words of the person; recall by number" if has_words else "recall by number"
    text = f'<omitted from="{lines[0].first}" to="{lines[count - 1].last}">{contents}</omitted>'
    return [Line(text=text, first=lines[0].first, last=lines[count - 1].last), *kept]


def _block(lines: Sequence[Line], plan: str) -> str:
    text = "\n".join([*(line.text for line in lines), *([plan] if plan else [])])
    return f"<compacted_history>\n{ABOUT}\n{text}\n</compacted_history>" if lines else ""


_BEFORE = 10**12  # tokens, a size that never fits: turns before the cut stay cut


PROTECTED = 40_000  # tokens of the newest outputs, which are not pruned
NEWEST_TURNS = 4  # turns whose results are not shortened


_BEGINNINGS = [
    (re.compile(r"\A\s*+(<!doctype html|<html)", re.IGNORECASE), "HTML"),
    (re.compile(r"\A\s*+<\?xml"), "XML"),
    (re.compile(r"\A(diff --git |--- \S)"), "Diff"),
    (re.compile(r"\A#!.*\bpython"), "Python"),
    (re.compile(r"\A#!.*sh\b"), "Bash"),
    (re.compile(r"\A\s*+[\[{]\s*+[\"{\[\]}\d-]"), "JSON"),
]


@dataclass(frozen=True, kw_only=True)
class Strategies:
    """An agent's strategies besides lines for old turns. `is_summed_up`: a model has summed up the steps."""

    prunes: bool = False
    shortens: bool = False
    is_summed_up: bool = False


@dataclass(frozen=True, kw_only=True)
class Move:
    """A move of the cut.

    `size` is the size of block and tail in the provider's tokens. `too_big` is a turn for which other turns had to go.
    """

    cut: Cut
    size: int
    too_big: Turn[ContextEntry] | None = None


@dataclass(frozen=True, kw_only=True)
class CutPlanner:
    """A planner of moves. `factor` is the calibration; `template` describes a call in one line."""

    window: Window
    factor: float
    template: Template
    strategies: Strategies = Strategies()

    def move(self, record: Sequence[ContextEntry], cut: Cut) -> Move:
        """Return the next cut after `cut`. `record` has all entries in the context, from the first one on.

        If shorter views are enabled and enough, only these change. Otherwise the newest turns within the tail's limit
        stay, and the others become the block. The size can exceed the window if the newest turn alone does.
        """
        entries = [entry for entry in record if entry.seq > cut.seq]
        views = shortened(entries) if self.strategies.shortens else {}
        if self.strategies.prunes:
            views = views | pruned(entries, self.template)
        if views.keys() > cut.views.keys():
            size = self._count(tokens.view_tokens(cut.block)) + sum(self._size_of(entry, views) for entry in entries)
            if size <= self.window.room:
                return Move(cut=replace(cut, views=views), size=size)
        return self._compacted(record, cut, views)

    def _compacted(self, record: Sequence[ContextEntry], cut: Cut, shorter: Mapping[int, str]) -> Move:
        turns = group(record)
        sizes = [
            _BEFORE if turn.entries[-1].seq <= cut.seq else sum(self._size_of(entry, shorter) for entry in turn.entries)
            for turn in turns
        ]
        compacted, too_big = self._compact(turns, sizes, self.window.room), None
        is_poor = compacted.has_lost_message or (compacted.has_dropped and compacted.tail > self.window.tail)
        if compacted.size > self.window.room or is_poor:
            compacted, too_big = self._compact(turns, sizes, self.window.guard), turns[-1]
        views = {seq: view for seq, view in shorter.items() if seq > compacted.cut_seq}
        new_cut = Cut(seq=compacted.cut_seq, block=compacted.block, views=views).without(cut.left_out)
        return Move(cut=new_cut, size=compacted.size, too_big=too_big)

    def _compact(self, turns: Sequence[Turn[ContextEntry]], sizes: Sequence[int], room: int) -> Compacted:
        return compact(
            turns,
            sizes=sizes,
            tail_room=self.window.tail,
            room=room,
            size=lambda text: self._count(tokens.view_tokens(text)),
            template=self.template,
            is_summed_up=self.strategies.is_summed_up,
        )

    def _size_of(self, entry: ContextEntry, shorter: Mapping[int, str]) -> int:
        view = shorter.get(entry.seq)
        return self._count(tokens.entry_tokens(entry) if view is None else tokens.view_tokens(view))

    def _count(self, estimated: int) -> int:
        return math.ceil(estimated * self.factor)


def pruned(entries: Sequence[ContextEntry], template: Template, protected: int = PROTECTED) -> dict[int, str]:
    """Return views of all outputs except the newest ones: the call that reads them again."""
    views: dict[int, str] = {}
    for call, result in reversed(list(_calls(entries))):
        protected -= tokens.estimate(result.content)
        if protected < 0:
            reading_call = " ".join(template((call.call or {})["name"], _arguments(call)).split())
            views |= _if_shorter(result, f"[pruned, read again by {reading_call[:200]}, or recall {result.seq}]")
    return views


def shortened(entries: Sequence[ContextEntry]) -> dict[int, str]:
    """Return views of results older than the newest turns: their size and kind."""
    old = [entry for turn in group(entries)[:-NEWEST_TURNS] for entry in turn.entries]
    views: dict[int, str] = {}
    for call, result in _calls(old):
        kind = kind_of(str(_arguments(call).get("path", "")), result.content)
        size, lines = len(result.content.encode(errors="replace")), result.content.count("\n") + 1
        status = result.metadata.get("status", "")
        view = f"[{status}: returned {size:,} bytes, {lines:,} lines of {kind}; recall {result.seq}]"
        views |= _if_shorter(result, view)
    return views


def _calls(entries: Sequence[ContextEntry]) -> Iterator[tuple[ContextEntry, ContextEntry]]:
    """Yield each tool call with its result. Messages to people are not outputs."""
    for call, result in pairwise(entries):
        if call.context_type == ContextType.TOOL_CALL and result.context_type == ContextType.TOOL_RESULT:
            yield call, result


def _arguments(call: ContextEntry) -> dict[str, object]:
    return call.arguments if isinstance(call.arguments, dict) else {}


def _if_shorter(result: ContextEntry, view: str) -> dict[int, str]:
    return {result.seq: view} if tokens.estimate(view) < tokens.estimate(result.content) else {}


def kind_of(path: str, content: str) -> str:
    """Return the kind of a content, such as "Go" or "JSON", or "text" if it is unknown."""
    from pygments.lexers import find_lexer_class_for_filename  # on first use, with its table of languages

    lexer = find_lexer_class_for_filename(path.rsplit("/", 1)[-1]) if "." in path else None
    if lexer is not None:
        return "text" if lexer.name == "Text only" else str(lexer.name)
    return next((kind for beginning, kind in _BEGINNINGS if beginning.match(content)), "text")
