"""A snapshot of a workspace: the SHA-256 of each file's content. Taking one only reads changed files."""

import os
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from tools_app.files import names as file_names
from tools_app.files import safe_open
from tools_app.files.paths import MAX_DEPTH, MAX_PATH, RESULTS

MOST_FILE = 10 * 1000**2  # bytes; larger files are not stored
MOST_FILES = 20_000
# Folders that programs recreate, so their deletion is no loss.
CACHES = frozenset(
    {"node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".cache", ".mypy_cache", ".pytest_cache"}
    | {".ruff_cache"}
)
IGNORED = CACHES | {RESULTS, ".git", ".hg", ".svn"}  # also folders with a history of their own
# A file that changes twice within a tick of the kernel's clock keeps its times. Like git, we read a file again if it
# changed right before the last snapshot: https://git-scm.com/docs/racy-git
_TICK_NS = 20_000_000


class FileState(NamedTuple):
    """The state of a regular file or a link. Without a `sha256` its content is not stored: too large, or no room.

    The kernel updates `ctime_ns` on every change of the file, and programs cannot set it back, unlike mtime. `ctime_ns`
    and `inode` are 0 in a state loaded from a stored change.
    """

    mode: int
    size: int
    ctime_ns: int
    inode: int
    sha256: str

    def is_as(self, other: "FileState | None") -> bool:
        """Return whether both states describe the same file, as far as they tell."""
        if other is None or self.mode != other.mode:
            return False
        if self.sha256 or other.sha256:
            return self[1:4] == other[1:4] or self.sha256 == other.sha256
        return self.size == other.size and (self[2:4] == other[2:4] or not (self.inode and other.inode))


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The states of files by path. `left_out` lists folders that were not searched, each with a trailing slash."""

    files: dict[str, FileState] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    taken_ns: int = 0


class Difference(NamedTuple):
    path: str
    before: FileState | None
    after: FileState | None


def differences(before: Snapshot, after: Snapshot) -> list[Difference]:
    """Return the changed files with both states, ordered by path."""
    if before.files == after.files:
        return []
    pairs = ((path, before.files.get(path), after.files.get(path)) for path in before.files.keys() | after.files.keys())
    return [Difference(*pair) for pair in sorted(pairs) if not (pair[1] and pair[1].is_as(pair[2]))]


def take(root: AbstractContextManager[int], before: Snapshot, keep: Callable[[bytes], str], most: int) -> Snapshot:
    """Take a snapshot of the workspace whose folder `root` opens.

    `keep` stores the content of a changed file and returns its SHA-256. At most `most` bytes are stored in total. Links
    are not followed. A file that changes during the call is recorded in one of its states.
    """
    taking = _Taking(before, keep, most)
    with suppress(FileNotFoundError), root as folder:  # the folder may not exist yet
        taking.walk(folder, ())
        taking.read_new(folder)
    return Snapshot(files=taking.files, left_out=tuple(sorted(taking.left_out)), taken_ns=taking.began)


class _Taking:
    def __init__(self, before: Snapshot, keep: Callable[[bytes], str], most: int) -> None:
        self._before, self._keep, self._most = before.files, keep, most
        self._settled = before.taken_ns - _TICK_NS
        self.began = time.time_ns()
        self.files: dict[str, FileState] = {}
        self.left_out: list[str] = []
        self._new: list[tuple[tuple[str, ...], str, FileState]] = []

    def walk(self, folder: int, names: tuple[str, ...]) -> None:
        prefix, inner = "".join(f"{name}/" for name in names), []
        with os.scandir(folder) as items:
            for item in items:
                try:
                    status = item.stat(follow_symlinks=False)
                except OSError:  # already gone
                    continue
                if stat.S_ISDIR(status.st_mode):
                    inner.append(item.name)
                elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                    self._note(names, prefix + item.name, status)
        for name in inner:
            self._enter(folder, (*names, name), f"{prefix}{name}/")

    def _note(self, names: tuple[str, ...], path: str, status: os.stat_result) -> None:
        key = file_names.stored(path)
        known = self._before.get(key)
        is_as_known = known and (status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino) == known[:4]
        if known and is_as_known and known.sha256 and known.ctime_ns < self._settled:
            self.files[key] = known
        elif _is_storable(path):
            self._new.append((names, path, _state(status)))
        else:
            self.left_out.append(key)

    def _enter(self, parent: int, names: tuple[str, ...], path: str) -> None:
        if names[-1] in IGNORED or len(names) > MAX_DEPTH or not _is_storable(path):
            self.left_out.append(file_names.stored(path))
            return
        try:
            folder = safe_open.open_folder(parent, names[-1])
        except OSError:  # already gone, or not readable
            self.left_out.append(file_names.stored(path))
            return
        try:
            self.walk(folder, names)
        finally:
            os.close(folder)

    def read_new(self, root: int) -> None:
        """Read changed files, as far as the unchanged ones leave room."""
        room, places = self._most - sum(state.size for state in self.files.values()), MOST_FILES - len(self.files)
        for names, files in groupby(sorted(self._new), key=lambda new: new[0]):
            with suppress(OSError), safe_open.folder(root, names) as folder:
                for _, path, state in files:
                    key = file_names.stored(path)
                    if state.size > min(MOST_FILE, room) or places <= 0:
                        self.files[key] = state
                    elif read := self._read(folder, path):
                        self.files[key] = read
                        room, places = room - read.size, places - 1

    def _read(self, folder: int, path: str) -> FileState | None:
        """Return the state of a file with its digest, or None if the file is gone.

        An unreadable file, or one that grew too large, has no digest.
        """
        name = path.rpartition("/")[2]
        try:
            state = _state(os.lstat(name, dir_fd=folder))
            data = _content(folder, name, state)
        except FileNotFoundError:
            return None
        except OSError:
            return state
        return state if len(data) > MOST_FILE else state._replace(size=len(data), sha256=self._keep(data))


def _content(folder: int, name: str, state: FileState) -> bytes:
    """Return the content of a file, or the target of a link."""
    if stat.S_ISLNK(state.mode):
        return os.fsencode(os.readlink(name, dir_fd=folder))
    with os.fdopen(safe_open.open_file(folder, name), "rb") as file:
        return file.read(MOST_FILE + 1)


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino, "")


def _is_storable(path: str) -> bool:
    """Return whether the stored form of a path suffices to open the file again."""
    return file_names.is_storable(path) and len(file_names.stored(path).encode()) <= MAX_PATH
