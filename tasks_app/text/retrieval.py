"""Full-text retrieval without a database: terms of a text, BM25 ranking, and rank fusion. Without I/O."""

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
# Characters that some spellings leave out: soft hyphens, joiners and direction marks, the dot that İ leaves above
# its i, and the vowel signs of Hebrew and Arabic.
UNSEEN = (
    "\u00ad\u0307\u0640\u0670\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    + "".join(map(chr, [*range(0x0591, 0x05BE), *range(0x064B, 0x0660)]))
)
_FOLDED = str.maketrans("ı", "i", UNSEEN)
_SATURATION, _LENGTH = 1.2, 0.75  # the usual parameters of BM25
_DAMPING = 60  # the usual constant of rank fusion
T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def fold(text: str) -> str:
    """Return the form that all spellings of a text share, regardless of case and Unicode normalization.

    The i with and without a dot is the same letter, as most keyboards have only one.
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_FOLDED)


def terms_of(text: str) -> list[str]:
    """Return lower-case words without a plural s, and pairs of characters in scripts without spaces.

    A term has only letters and digits, so it has no meaning in a query language.
    """
    terms: list[str] = []
    for run in _RUN.finditer(fold(text)):
        if run["dense"]:
            terms += [first + second for first, second in pairwise(run[0])] or [run[0]]
        else:
            terms.append(singular(run[0])[:LONGEST])
    return terms


def searched_terms(text: str) -> list[str]:
    """Return terms of a long text for prefix search: also the last character of each run without spaces."""
    last = [run["dense"][-1] for run in _RUN.finditer(unicodedata.normalize("NFKC", text)) if run["dense"]]
    return [*terms_of(text), *last]


def singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def bm25(query: Collection[str], texts: Sequence[T], terms: Callable[[T], Sequence[str]], limit: int) -> list[T]:
    """Return up to `limit` texts that contain a term of the query, best first."""
    counted = [Counter(terms(text)) for text in texts]
    average = sum(count.total() for count in counted) / len(counted) if counted else 0
    document_counts = {term: sum(term in count for count in counted) for term in set(query)}
    weights = {term: math.log1p((len(counted) - n + 0.5) / (n + 0.5)) for term, n in document_counts.items() if n}
    scores = []
    for count in counted:
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * count.total() / max(average, 1))
        matching_terms = (term for term in weights if term in count)
        scores.append(
            sum(weights[term] * count[term] * (_SATURATION + 1) / (count[term] + norm) for term in matching_terms)
        )
    best = sorted((index for index, score in enumerate(scores) if score), key=lambda index: -scores[index])
    return [texts[index] for index in best[:limit]]


def reciprocal_rank_fusion(rankings: Sequence[Sequence[H]], limit: int) -> list[H]:
    """Return the best items of all rankings first.

    An item's score is the sum of 1 / (60 + rank) over the rankings. The constant is from Cormack, Clarke and
    Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009.
    """
    scores: defaultdict[H, float] = defaultdict(float)
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] += 1 / (_DAMPING + rank)
    return sorted(scores, key=lambda item: -scores[item])[:limit]
