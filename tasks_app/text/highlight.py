"""The parts of a line that match searched words in any spelling."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks_app.text.retrieval import fold, singular

_JOINED = "\uff9e\uff9f"  # sound marks of half-width katakana
_VOWELS_AND_FINALS = range(0x1160, 0x1200)  # of decomposed hangul


@dataclass(frozen=True, kw_only=True)
class HighlightPart:
    text: str
    is_match: bool = False


def count_matches(line: str, words: Sequence[str]) -> int:
    """Return how many of the folded words are in a line."""
    folded = fold(line)
    return sum(singular(word) in folded for word in words)


def highlighted(line: str, words: Sequence[str], length: int) -> list[HighlightPart]:
    """Return about `length` characters around the first match, in parts."""
    spans = _merged(sorted(_spans(line, words)))
    start = max(0, spans[0][0] - length // 4) if spans and len(line) > length else 0
    end = min(len(line), start + length)
    parts, position = [HighlightPart(text="…")] if start else [], start
    for begin, stop in spans:
        if begin >= end:
            break
        parts += [HighlightPart(text=line[position:begin]), HighlightPart(text=line[begin:stop], is_match=True)]
        position = stop
    parts += [HighlightPart(text=line[position:end]), HighlightPart(text="…" if end < len(line) else "")]
    return [part for part in parts if part.text]


def _spans(line: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    folded, origins = "", []  # span of the original character of each folded one
    for begin, end in _characters(line):
        part = fold(line[begin:end])
        folded += part
        origins += [(begin, end)] * len(part)
    for word in map(singular, words):  # the index stores plurals by their singular
        position = folded.find(word)
        while word and position >= 0:
            yield origins[position][0], origins[position + len(word) - 1][1]
            position = folded.find(word, position + len(word))


def _characters(line: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each character with its combining characters."""
    begin = 0
    for position in range(1, len(line) + 1):
        if position == len(line) or not _is_combined(line[position]):
            yield begin, position
            begin = position


def _is_combined(character: str) -> bool:
    return bool(unicodedata.combining(character)) or character in _JOINED or ord(character) in _VOWELS_AND_FINALS


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
