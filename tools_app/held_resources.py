"""What this process keeps for a session between calls, such as an open page; it ends with the process."""

from collections.abc import Mapping

PAGE = "page"  # the name of what the browser shows
JOB = "job"  # how the names of background commands begin
ENDED = "ended job"  # how the names of the notices begin that one has ended

_held: dict[str, Mapping[str, str]] = {}


def hold(session: str, name: str, words: str) -> None:
    """Something called `name` is there from now on. `words` tell a model what it is, and hold no address or content."""
    _held[session] = {**held_for(session), name: words}


def release(session: str, name: str) -> None:
    left = {other: words for other, words in held_for(session).items() if other != name}
    if left:
        _held[session] = left
    else:
        _held.pop(session, None)


def held_for(session: str) -> Mapping[str, str]:
    """All that is kept for a session: name → words. Any thread may ask."""
    return _held.get(session, {})


def sessions() -> set[str]:
    """Those that something is kept for."""
    return set(_held)


def anything() -> bool:
    return bool(_held)
