"""The request to the search process, and its answer. Both are sent as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Query:
    """`place` leads from `root`, which no program can replace, to the workspace, or to a view of another one at
    `prefix`; `names` lead on to the folder (or the file) below that. `owner` is whom to search as.

    The answer begins with the match number `offset` and holds at most `room` bytes, but one match in any case.
    After `seconds` the answer is what was found so far. After more than twice that time the process ends itself: the
    server may have died and left it with a pattern that never finishes.
    """

    root: str
    place: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    prefix: str = ""
    owner: tuple[int, int] | None = None
    action: Literal["glob", "grep"]
    pattern: str
    glob: str = ""
    ignore_case: bool = False
    context: int = 0
    offset: int = 1
    room: int = 10_000
    seconds: float = 15


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`shown` of `total` matches are in `lines`. `complete`: the time was enough. `error`: why nothing was searched.

    `unsearched` names what could not be searched, a line for each reason; `documents` are the paths of those that are
    still to be searched (`in_documents`).
    """

    lines: list[str]
    shown: int = 0
    total: int = 0
    complete: bool = True
    unsearched: Sequence[str] = ()
    documents: Sequence[str] = ()
    error: str = ""
