"""The parts of a line that match searched words in any spelling."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks_app.text.retrieval import fold

_JOINED = "\uff9e\uff9f"  # sound marks of half-width katakana
_VOWELS_AND_FINALS = range(0x1160, 0x1200)  # of decomposed hangul


@dataclass(frozen=True, kw_only=True)
class Piece:
    text: str
    is_match: bool = False


def matches_in(line: str, words: Sequence[str]) -> int:
    """Return how many of the folded words are in a line."""
    folded = fold(line)
    return sum(_stem(word) in folded for word in words)


def marked(line: str, words: Sequence[str], room: int) -> list[Piece]:
    """Return about `room` characters around the first match, as pieces."""
    spans = _merged(sorted(_spans(line, words)))
    start = max(0, spans[0][0] - room // 4) if spans and len(line) > room else 0
    end = min(len(line), start + room)
    pieces, place = [Piece(text="…")] if start else [], start
    for begin, stop in spans:
        if begin >= end:
            break
        pieces += [Piece(text=line[place:begin]), Piece(text=line[begin:stop], is_match=True)]
        place = stop
    pieces += [Piece(text=line[place:end]), Piece(text="…" if end < len(line) else "")]
    return [piece for piece in pieces if piece.text]


def _stem(word: str) -> str:
    """Return the singular, as the index stores plurals by their singular."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _spans(line: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    folded, places = "", []  # span of the original character of each folded one
    for begin, end in _characters(line):
        part = fold(line[begin:end])
        folded += part
        places += [(begin, end)] * len(part)
    for word in map(_stem, words):
        found = folded.find(word)
        while word and found >= 0:
            yield places[found][0], places[found + len(word) - 1][1]
            found = folded.find(word, found + len(word))


def _characters(line: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each character with its combining characters."""
    begin = 0
    for place in range(1, len(line) + 1):
        if place == len(line) or not _is_combined(line[place]):
            yield begin, place
            begin = place


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
