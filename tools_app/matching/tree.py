"""The files below a folder, without those that .gitignore files leave out. No link is followed."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools_app import beneath
from tools_app.matching.ignore import Rule, is_ignored, rules_of
from tools_app.paths import MAX_DEPTH

MAX_SIZE = 10 * 1000**2  # bytes; larger files are not searched


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A file that was met on the way. `folder` is open only until the next one is asked for."""

    path: str
    name: str
    folder: int

    def modified(self) -> float:
        """Seconds since the epoch; 0 for what is gone meanwhile."""
        try:
            return os.lstat(self.name, dir_fd=self.folder).st_mtime
        except FileNotFoundError:
            return 0

    def text(self) -> str | None:
        """None for what cannot be searched: no text, too large, or gone. Undecodable bytes are replaced."""
        data = _read(self.folder, self.name)
        if data is None or b"\0" in data:
            return None
        return data.decode(errors="replace").replace("\r\n", "\n")


def files(root: str, names: Sequence[str]) -> Iterator[Found]:
    """All files at `names` below `root`, each folder's by name. The rules of the folders above hold, too.

    Raises OSError if there is nothing at `names`.
    """
    rules: list[Rule] = []
    for depth in range(len(names)):
        with beneath.folder(root, names[:depth]) as above:
            rules += _rules_in(above, _prefix(names[:depth]))
    with beneath.folder(root, names[:-1]) as parent:
        if names and _is_file(parent, names[-1]):
            yield Found(path="/".join(names), name=names[-1], folder=parent)
            return
    with beneath.folder(root, names) as folder:
        yield from _walk(folder, _prefix(names), rules)


def _walk(folder: int, prefix: str, rules: Sequence[Rule]) -> Iterator[Found]:
    rules = [*rules, *_rules_in(folder, prefix)]
    with os.scandir(folder) as items:
        entries = sorted(items, key=lambda item: item.name)
    for entry in entries:
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or is_ignored(rules, path, is_folder):
            continue
        if is_folder and path.count("/") < MAX_DEPTH:
            yield from _inside(folder, entry.name, path + "/", rules)
        elif entry.is_file(follow_symlinks=False):
            yield Found(path=path, name=entry.name, folder=folder)


def _inside(parent: int, name: str, prefix: str, rules: Sequence[Rule]) -> Iterator[Found]:
    try:
        folder = beneath.open_folder(parent, name)
    except OSError:  # gone meanwhile, or closed to us: a search reports what it can read
        return
    try:
        yield from _walk(folder, prefix, rules)
    finally:
        os.close(folder)


def _rules_in(folder: int, prefix: str) -> list[Rule]:
    data = _read(folder, ".gitignore")
    return rules_of(data.decode(errors="replace"), prefix) if data else []


def _read(folder: int, name: str) -> bytes | None:
    try:
        with os.fdopen(beneath.open_file(folder, name), "rb") as file:
            data = file.read(MAX_SIZE + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_SIZE else None


def _is_file(parent: int, name: str) -> bool:
    return stat.S_ISREG(os.lstat(name, dir_fd=parent).st_mode)


def _prefix(names: Sequence[str]) -> str:
    return "".join(name + "/" for name in names)
