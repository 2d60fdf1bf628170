"""Segments of text with their marks: tracked changes, hidden and struck text.

Deleted text is `[-…-]`, inserted text `{+…+}`, hidden text `[hidden: …]`, struck text `~~…~~`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby

_LINE_END = re.compile("([\n\f])")


class ChangeKind(Enum):
    """The kind of a tracked change (ISO 29500-1, 17.13.5), by the name of its element."""

    INSERTION = "ins"
    DELETION = "del"
    MOVED_TO = "moveTo"
    MOVED_FROM = "moveFrom"

    @property
    def is_removal(self) -> bool:
        """Return whether the text disappears when the change is accepted."""
        return self in (ChangeKind.DELETION, ChangeKind.MOVED_FROM)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A tracked change with its author and day. `move` is the number of a move, or 0."""

    kind: ChangeKind
    author: str
    day: str
    move: int = 0

    def __str__(self) -> str:
        return f"{self.author}, {self.day}" if self.day else self.author


@dataclass(frozen=True, kw_only=True)
class Marks:
    """The marks of a segment."""

    change: Change | None = None
    is_hidden: bool = False
    is_struck: bool = False


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Text with the same marks."""

    text: str
    marks: Marks


class ChangeLog:
    """The tracked changes of a document: how many by each author, and the numbers of moves."""

    def __init__(self, authors: Iterable[tuple[str, str]]) -> None:
        """`authors` are author and day of each change."""
        self._has_several = len(set(authors)) > 1
        self._days: defaultdict[str, set[str]] = defaultdict(set)
        self._counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._numbers: dict[str, int] = {}
        self._shown_moves: set[tuple[int, ChangeKind]] = set()

    def move_number(self, name: str) -> int:
        """Return the number of a move, counted from 1."""
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def count(self, change: Change) -> None:
        """Count a change for the summary. A move counts at its new place."""
        names = {ChangeKind.INSERTION: "insertion", ChangeKind.DELETION: "deletion", ChangeKind.MOVED_TO: "move"}
        if name := names.get(change.kind):
            counts = self._counts[change.author]
            counts[name] = counts.get(name, 0) + 1
            self._days[change.author].add(change.day)

    def summary(self) -> str:
        """Return one line: how many changes wait for acceptance, by whom and when, or ""."""
        authors = []
        for author, counts in self._counts.items():
            texts = [
                f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in sorted(counts.items(), reverse=True)
            ]
            texts.sort(key=lambda text: "insertion" not in text)
            days = sorted(filter(None, self._days[author]))
            period = " to ".join(sorted({days[0], days[-1]})) if days else ""
            authors.append(f"{', '.join(texts)} by {author}{f' ({period})' if period else ''}")
        if not authors:
            return ""
        legend = "Shown as [-deleted-] and {+inserted+}"
        legend += ", with the author of each." if self._has_several else "."
        return f"Tracked changes, not accepted: {'; '.join(authors)}. {legend}"

    def rendered(self, segments: Iterable[Segment], counted: set[Change] | None = None) -> str:
        """Return the text of the segments with their marks, and count the changes.

        Changes in `counted` are counted once for all calls: those of a table's row.
        """
        groups = [
            (marks, "".join(part.text for part in parts)) for marks, parts in groupby(segments, lambda part: part.marks)
        ]
        texts = []
        for position, (marks, text) in enumerate(groups):
            change = marks.change
            if change and text and (counted is None or change not in counted):
                self.count(change)
                if counted is not None:
                    counted.add(change)
            texts.append("".join(self._marked(marks, text)))
            following = groups[position + 1][0].change if position + 1 < len(groups) else None
            if change and self._has_several and not _is_same_author(change, following):
                texts.append(f"[by {change}]")
        return "".join(texts)

    def _marked(self, marks: Marks, text: str) -> Iterator[str]:
        """Yield the marked text, each line with its own marks."""
        change = marks.change
        if change and change.move:
            is_first = (change.move, change.kind) not in self._shown_moves
            self._shown_moves.add((change.move, change.kind))
            direction = "from" if change.kind.is_removal else "to"
            yield f"[moved {change.move}: {direction} here]" if is_first else ""
            if change.kind.is_removal:
                yield from _LINE_END.findall(text) if "\f" in text else ()
                return
        for line in _LINE_END.split(text):
            if line in ("\n", "\f", ""):
                yield line
                continue
            marked = f"~~{line}~~" if marks.is_struck and line.strip() else line
            marked = f"[hidden: {line.strip()}]" if marks.is_hidden and line.strip() else marked
            if change:
                marked = f"[-{marked}-]" if change.kind.is_removal else f"{{+{marked}+}}"
            yield marked


def _is_same_author(change: Change, other: Change | None) -> bool:
    return other is not None and (change.author, change.day) == (other.author, other.day)


def is_marked(line: str) -> bool:
    """Return whether a line has the mark of a tracked change."""
    return "{+" in line or "[-" in line or "[moved " in line


def is_removed(segments: Iterable[Segment]) -> bool:
    """Return whether all text of the segments disappears when their changes are accepted."""
    visible = [segment for segment in segments if segment.text.strip()]
    return bool(visible) and all(segment.marks.change and segment.marks.change.kind.is_removal for segment in visible)


def is_changed(segments: Iterable[Segment], kind: ChangeKind) -> bool:
    """Return whether all text of the segments has a change of this kind."""
    return all(not segment.text.strip() or _kind(segment.marks) == kind for segment in segments)


def _kind(marks: Marks) -> ChangeKind | None:
    return marks.change.kind if marks.change else None


def with_change(marks: Marks, change: Change | None) -> Marks:
    """Return the marks with another change, unless there is none."""
    return replace(marks, change=change) if change else marks
