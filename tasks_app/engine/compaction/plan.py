"""Where the cut moves to, and what stands there then. Pure: the same record and figures give the same bytes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tasks_app.engine.compaction import truncation
from tasks_app.engine.compaction.fit import Compacted, compact
from tasks_app.engine.compaction.lines import Template
from tasks_app.engine.compaction.window import Window
from tasks_app.models import ContextEntry
from tasks_app.record import tokens
from tasks_app.record.cut import Cut
from tasks_app.record.turns import Turn, group

_BEFORE = 10**12  # tokens: no turn from before the cut comes back


@dataclass(frozen=True, kw_only=True)
class Strategies:
    """What an agent wants beside lines for old turns; `is_summed_up`: a model has told what the steps were about."""

    prunes: bool = False
    shortens: bool = False
    is_summed_up: bool = False


@dataclass(frozen=True, kw_only=True)
class Move:
    """`size` is that of block and tail in the provider's tokens; `too_big` a turn for which others had to go."""

    cut: Cut
    size: int
    too_big: Turn[ContextEntry] | None = None


@dataclass(frozen=True, kw_only=True)
class CutPlanner:
    """`factor` is the calibration, `template` says in one line what a call was about."""

    window: Window
    factor: float
    template: Template
    strategies: Strategies = Strategies()

    def move(self, record: Sequence[ContextEntry], cut: Cut) -> Move:
        """The next cut after `cut`. `record` is all in the context, from the first entry on.

        Shorter views alone, where they are wanted and enough; else the newest turns within the tail's budget, and the
        block of all others. Its size may still be too much where the newest turn alone is.
        """
        behind = [entry for entry in record if entry.seq > cut.seq]
        shorter = self._views(behind)
        if shorter.keys() > cut.views.keys():
            size = self._count(tokens.of_view(cut.block)) + sum(self._of(entry, shorter) for entry in behind)
            if size <= self.window.room:
                return Move(cut=replace(cut, views=shorter), size=size)
        return self._compacted(record, cut, shorter)

    def _compacted(self, record: Sequence[ContextEntry], cut: Cut, shorter: Mapping[int, str]) -> Move:
        turns = group(record)
        sizes = [
            _BEFORE if turn.entries[-1].seq <= cut.seq else sum(self._of(entry, shorter) for entry in turn.entries)
            for turn in turns
        ]
        found, too_big = self._compact(turns, sizes, self.window.room), None
        if found.size > self.window.room or (found.has_dropped and found.tail > self.window.tail):
            found, too_big = self._compact(turns, sizes, self.window.guard), turns[-1]
        kept = {seq: view for seq, view in shorter.items() if seq > found.cut_seq}
        return Move(cut=Cut(seq=found.cut_seq, block=found.block, views=kept), size=found.size, too_big=too_big)

    def _compact(self, turns: Sequence[Turn[ContextEntry]], sizes: Sequence[int], room: int) -> Compacted:
        return compact(
            turns,
            sizes=sizes,
            tail_room=self.window.tail,
            room=room,
            size=lambda text: self._count(tokens.of_view(text)),
            template=self.template,
            is_summed_up=self.strategies.is_summed_up,
        )

    def _views(self, behind: Sequence[ContextEntry]) -> dict[int, str]:
        found = truncation.shortened(behind) if self.strategies.shortens else {}
        return found | truncation.pruned(behind, self.template) if self.strategies.prunes else found

    def _of(self, entry: ContextEntry, shorter: Mapping[int, str]) -> int:
        view = shorter.get(entry.seq)
        return self._count(tokens.of_entry(entry) if view is None else tokens.of_view(view))

    def _count(self, estimated: int) -> int:
        return math.ceil(estimated * self.factor)
