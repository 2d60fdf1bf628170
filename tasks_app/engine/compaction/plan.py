"""Where the cut moves to, and which shorter forms of old results are sent from then on.

Pure: the same record and figures give the same bytes.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tasks_app.engine.compaction.fit import Compacted, compact
from tasks_app.engine.compaction.lines import Template
from tasks_app.engine.compaction.window import Window
from tasks_app.models import ContextEntry, ContextType
from tasks_app.record import Cut, Turn, tokens
from tasks_app.record.turns import group

_BEFORE = 10**12  # tokens: no turn from before the cut comes back


PROTECTED = 40_000  # tokens of the newest outputs that pruning leaves as they are
NEWEST_TURNS = 4  # whose results are not shortened


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
    """What an agent wants beside lines for old turns; `is_summed_up`: a model has summed up the steps."""

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
            size = self._count(tokens.view_tokens(cut.block)) + sum(self._size_of(entry, shorter) for entry in behind)
            if size <= self.window.room:
                return Move(cut=replace(cut, views=shorter), size=size)
        return self._compacted(record, cut, shorter)

    def _compacted(self, record: Sequence[ContextEntry], cut: Cut, shorter: Mapping[int, str]) -> Move:
        turns = group(record)
        sizes = [
            _BEFORE if turn.entries[-1].seq <= cut.seq else sum(self._size_of(entry, shorter) for entry in turn.entries)
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
            size=lambda text: self._count(tokens.view_tokens(text)),
            template=self.template,
            is_summed_up=self.strategies.is_summed_up,
        )

    def _views(self, behind: Sequence[ContextEntry]) -> dict[int, str]:
        views = shortened(behind) if self.strategies.shortens else {}
        return views | pruned(behind, self.template) if self.strategies.prunes else views

    def _size_of(self, entry: ContextEntry, shorter: Mapping[int, str]) -> int:
        view = shorter.get(entry.seq)
        return self._count(tokens.entry_tokens(entry) if view is None else tokens.view_tokens(view))

    def _count(self, estimated: int) -> int:
        return math.ceil(estimated * self.factor)


def pruned(entries: Sequence[ContextEntry], template: Template, protected: int = PROTECTED) -> dict[int, str]:
    """All outputs but the newest, replaced by the call that reads them again."""
    views: dict[int, str] = {}
    for call, result in reversed(list(_calls(entries))):
        protected -= tokens.estimate(result.content)
        if protected < 0:
            again = " ".join(template((call.call or {})["name"], _arguments(call)).split())
            views |= _if_shorter(result, f"[pruned, read again by {again[:200]}, or recall {result.seq}]")
    return views


def shortened(entries: Sequence[ContextEntry]) -> dict[int, str]:
    """Results older than the newest turns, replaced by their size and kind."""
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
    """Each tool call with its result. What was said to people is no output."""
    for call, result in pairwise(entries):
        if call.context_type == ContextType.TOOL_CALL and result.context_type == ContextType.TOOL_RESULT:
            yield call, result


def _arguments(call: ContextEntry) -> dict[str, object]:
    return call.arguments if isinstance(call.arguments, dict) else {}


def _if_shorter(result: ContextEntry, view: str) -> dict[int, str]:
    return {result.seq: view} if tokens.estimate(view) < tokens.estimate(result.content) else {}


def kind_of(path: str, content: str) -> str:
    """Such as "Go" or "JSON"; "text" where nothing tells more."""
    from pygments.lexers import find_lexer_class_for_filename  # on first use, with its table of languages

    found = find_lexer_class_for_filename(path.rsplit("/", 1)[-1]) if "." in path else None
    if found is not None:
        return "text" if found.name == "Text only" else str(found.name)
    return next((kind for beginning, kind in _BEGINNINGS if beginning.match(content)), "text")
