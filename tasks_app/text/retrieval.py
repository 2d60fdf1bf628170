"""How texts are found by their words: the terms of a text, BM25 over them, and one ranking out of several. Pure."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

LONGEST = 40  # characters of a term
_WITHOUT_SPACES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"  # kana, Han, hangul
_RUN = re.compile(rf"(?P<dense>[{_WITHOUT_SPACES}]+)|[^\W_{_WITHOUT_SPACES}]+")
# Characters that one spelling has and another leaves out: soft hyphens, joiners and marks of direction, the dot that
# İ leaves above its i, and the vowel signs of Hebrew and Arabic.
UNSEEN = (
    "\u00ad\u0307\u0640\u0670\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    + "".join(map(chr, [*range(0x0591, 0x05BE), *range(0x064B, 0x0660)]))
)
_FOLDED = str.maketrans("ı", "i", UNSEEN)
_SATURATION, _LENGTH = 1.2, 0.75  # of BM25: the usual ones
_DAMPING = 60  # of rank fusion: the usual one
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def fold(text: str) -> str:
    """Return what all spellings of a text have in common: of capital and small letters, and of its normal forms.

    The i with and without a dot is one letter, as most keyboards have no other.
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_FOLDED)


def terms_of(text: str) -> list[str]:
    """Words in small letters, without the s of a plural; pairs of characters where words have no spaces between.

    A term has letters and digits only: nothing in it means anything to a database.
    """
    found: list[str] = []
    for run in _RUN.finditer(fold(text)):
        found += _pairs(run[0]) if run["dense"] else [_singular(run[0])[:LONGEST]]
    return found


def searched_terms(text: str) -> list[str]:
    """Those of a long text, for who looks for beginnings of terms: so the last character of a dense run is one, too."""
    last = [run["dense"][-1] for run in _RUN.finditer(unicodedata.normalize("NFKC", text)) if run["dense"]]
    return [*terms_of(text), *last]


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def bm25(query: Collection[str], texts: Sequence[T], terms: Callable[[T], Sequence[str]], most: int) -> list[T]:
    """Best first; what has no term of the query is left out."""
    counted = [Counter(terms(text)) for text in texts]
    average = sum(count.total() for count in counted) / len(counted) if counted else 0
    holding = {term: sum(term in count for count in counted) for term in set(query)}
    weights = {term: math.log1p((len(counted) - n + 0.5) / (n + 0.5)) for term, n in holding.items() if n}
    scores = [_score(count, weights, average) for count in counted]
    best = sorted((place for place, score in enumerate(scores) if score), key=lambda place: -scores[place])
    return [texts[place] for place in best[:most]]


def _score(count: "Counter[str]", weights: dict[str, float], average: float) -> float:
    norm = _SATURATION * (1 - _LENGTH + _LENGTH * count.total() / max(average, 1))
    said = (term for term in weights if term in count)
    return sum(weights[term] * count[term] * (_SATURATION + 1) / (count[term] + norm) for term in said)


def reciprocal_rank_fusion(rankings: Sequence[Sequence[H]], most: int) -> list[H]:
    """Best first; what several rankings have far in front comes before what only one has.

    A place's score is 1 / (60 + place), summed over the rankings: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
    outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009, whose constant 60 is.
    """
    scores: defaultdict[H, float] = defaultdict(float)
    for ranking in rankings:
        for place, each in enumerate(ranking, 1):
            scores[each] += 1 / (_DAMPING + place)
    return sorted(scores, key=lambda each: -scores[each])[:most]
