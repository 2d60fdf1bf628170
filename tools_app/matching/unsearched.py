"""What a search met and could not search, said in a bounded space."""

from collections import defaultdict

from tools_app.files.listing import printable

_NAMED = 5  # of each reason
_LONGEST = 100  # characters of a path


class Unsearchable(Exception):
    """The message is the reason."""


class Unsearched:
    """Collects paths by reason."""

    def __init__(self) -> None:
        self._named: defaultdict[str, list[str]] = defaultdict(list)
        self._unnamed: defaultdict[str, int] = defaultdict(int)

    def add(self, path: str, reason: str) -> None:
        if len(self._named[reason]) < _NAMED:
            self._named[reason].append(_short(printable(path)))
        else:
            self._unnamed[reason] += 1

    def lines(self) -> list[str]:
        """For each reason the first paths, how many more, and the reason."""
        return [f"{', '.join(paths)}{self._more(reason)} ({reason})" for reason, paths in self._named.items()]

    def _more(self, reason: str) -> str:
        return f" and {more} more" if (more := self._unnamed[reason]) else ""


def _short(path: str) -> str:
    return path if len(path) <= _LONGEST else f"…{path[-_LONGEST:]}"
