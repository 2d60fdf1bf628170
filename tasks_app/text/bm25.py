"""Which texts are nearest to a question: BM25 over their terms. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

T = TypeVar("T")
_SATURATION, _LENGTH = 1.2, 0.75  # the usual ones


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
