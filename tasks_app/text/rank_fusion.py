"""One ranking out of several: reciprocal rank fusion. Pure."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
_DAMPING = 60  # the usual one


def reciprocal_rank_fusion(rankings: Sequence[Sequence[T]], most: int) -> list[T]:
    """Best first; what several rankings have far in front comes before what only one has."""
    scores: defaultdict[T, float] = defaultdict(float)
    for ranking in rankings:
        for place, each in enumerate(ranking, 1):
            scores[each] += 1 / (_DAMPING + place)
    return sorted(scores, key=lambda each: -scores[each])[:most]
