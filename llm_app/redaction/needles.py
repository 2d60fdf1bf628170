"""A search for many strings in one text."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_INDEX_LENGTH = 4  # characters in the index of needles
_SHORT_TEXT = 128  # characters; in shorter texts, checking each position is cheaper than one `in` per needle


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """An occurrence of a needle, from `start` to before `end`, with the needle's label."""

    start: int
    end: int
    label: str


class Needles:
    """Strings of at least 4 characters to search for, each with a label."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = {needle: label for needle, label in labels.items() if len(needle) >= _INDEX_LENGTH}
        self._longest = max(map(len, self._labels), default=0)
        self._shortest = min(map(len, self._labels), default=_INDEX_LENGTH)
        self._index: defaultdict[str, list[str]] = defaultdict(list)
        for needle in self._labels:
            self._index[needle[:_INDEX_LENGTH]].append(needle)
        self._first_characters = {start[:size] for start in self._index for size in range(1, _INDEX_LENGTH)}
        self._start_pattern = _pattern_of_starts(self._index)

    def occur_in(self, text: str) -> bool:
        """Return whether any needle occurs. Most texts contain none, so this is fast.

        450 needles in 200 KB take 5 ms as `in` tests, a tenth of the time of one regular expression.
        """
        if len(text) < self._shortest:
            return False
        if len(self._labels) > len(text) and len(text) <= _SHORT_TEXT:
            return self._occur_in_short(text)
        return True in map(text.__contains__, self._labels)

    def _occur_in_short(self, text: str) -> bool:
        for position in range(len(text) - self._shortest + 1):
            for needle in self._index.get(text[position : position + _INDEX_LENGTH], ()):
                if text.startswith(needle, position):
                    return True
        return False

    def hits(self, text: str) -> list[Hit]:
        """Return every occurrence of every needle, including overlapping ones."""
        if not self.occur_in(text):
            return []
        return [hit for needle in self._labels if needle in text for hit in self._hits_of(needle, text)]

    def _hits_of(self, needle: str, text: str) -> Iterator[Hit]:
        position = text.find(needle)
        while position >= 0:
            yield Hit(start=position, end=position + len(needle), label=self._labels[needle])
            position = text.find(needle, position + 1)

    def partial_start(self, text: str) -> int:
        """Return the first position from which the text is the beginning of a needle, else the length of the text."""
        size = len(text)
        first = max(0, size - self._longest + 1)
        for match in self._start_pattern.finditer(text, first):
            rest = text[match.start() :]
            candidates = self._index.get(rest[:_INDEX_LENGTH], ())
            if any(len(needle) > len(rest) and needle.startswith(rest) for needle in candidates):
                return match.start()
        last_positions = range(max(first, size - _INDEX_LENGTH + 1), size)
        return next((position for position in last_positions if text[position:] in self._first_characters), size)


def _pattern_of_starts(starts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for positions where a text could begin like one of these starts, by the characters at each
    offset.
    """
    of_each_place = ["".join(map(re.escape, set(characters))) for characters in zip(*starts, strict=True)]
    return re.compile(f"(?={''.join(f'[{some}]' for some in of_each_place)})" if of_each_place else r"(?!)")
