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

MAX_FILE_BYTES = 10 * 1000**2  # bytes; larger files are not stored
MAX_FILES = 20_000
# Folders that programs recreate, so their deletion is no loss.
CACHES = frozenset(
    {"node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", ".cache", ".mypy_cache", ".pytest_cache"}
    | {".ruff_cache"}
)
# Folders whose large files programs build again. The history holds the others.
GENERATED = CACHES | {"build", "dist", "target", ".next", ".nuxt", ".gradle", ".turbo", ".parcel-cache", "htmlcov"}
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

    def is_same_as(self, other: "FileState | None") -> bool:
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
    return [Difference(*pair) for pair in sorted(pairs) if not (pair[1] and pair[1].is_same_as(pair[2]))]


def take(
    root: AbstractContextManager[int], previous: Snapshot, store: Callable[[bytes], str], max_bytes: int
) -> Snapshot:
    """Take a snapshot of the workspace whose folder `root` opens.

    `store` stores the content of a changed file and returns its SHA-256. At most `max_bytes` are stored in total. Links
    are not followed. A file that changes during the call is recorded in one of its states.
    """
    builder = _SnapshotBuilder(previous, store, max_bytes)
    with suppress(FileNotFoundError), root as folder:  # the folder may not exist yet
        builder.walk(folder, ())
        builder.read_changed(folder)
    return Snapshot(files=builder.files, left_out=tuple(sorted(builder.left_out)), taken_ns=builder.started_ns)


class _SnapshotBuilder:
    def __init__(self, previous: Snapshot, store: Callable[[bytes], str], max_bytes: int) -> None:
        self._previous_files, self._store, self._max_bytes = previous.files, store, max_bytes
        self._trusted_before_ns = previous.taken_ns - _TICK_NS
        self.started_ns = time.time_ns()
        self.files: dict[str, FileState] = {}
        self.left_out: list[str] = []
        self._changed: list[tuple[tuple[str, ...], str, FileState]] = []

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
                    self._add_file(names, prefix + item.name, status)
        for name in inner:
            self._walk_subfolder(folder, (*names, name), f"{prefix}{name}/")

    def _add_file(self, names: tuple[str, ...], path: str, status: os.stat_result) -> None:
        key = file_names.to_stored(path)
        previous = self._previous_files.get(key)
        is_unchanged = previous and _state(status)[:4] == previous[:4]
        if previous and is_unchanged and previous.sha256 and previous.ctime_ns < self._trusted_before_ns:
            self.files[key] = previous
        elif _is_storable(path):
            self._changed.append((names, path, _state(status)))
        else:
            self.left_out.append(key)

    def _walk_subfolder(self, parent: int, names: tuple[str, ...], path: str) -> None:
        if names[-1] in IGNORED or len(names) > MAX_DEPTH or not _is_storable(path):
            self.left_out.append(file_names.to_stored(path))
            return
        try:
            folder = safe_open.open_folder(parent, names[-1])
        except OSError:  # already gone, or not readable
            self.left_out.append(file_names.to_stored(path))
            return
        try:
            self.walk(folder, names)
        finally:
            os.close(folder)

    def read_changed(self, root: int) -> None:
        """Read changed files, as far as the unchanged ones leave room."""
        room = self._max_bytes - sum(state.size for state in self.files.values())
        free_files = MAX_FILES - len(self.files)
        for names, files in groupby(sorted(self._changed), key=lambda new: new[0]):
            with suppress(OSError), safe_open.folder(root, names) as folder:
                for _, path, state in files:
                    key = file_names.to_stored(path)
                    if state.size > min(MAX_FILE_BYTES, room) or free_files <= 0:
                        self.files[key] = state
                    elif read := self._read(folder, path):
                        self.files[key] = read
                        room, free_files = room - read.size, free_files - 1

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
        return state if len(data) > MAX_FILE_BYTES else state._replace(size=len(data), sha256=self._store(data))


def _content(folder: int, name: str, state: FileState) -> bytes:
    """Return the content of a file, or the target of a link."""
    if stat.S_ISLNK(state.mode):
        return os.fsencode(os.readlink(name, dir_fd=folder))
    with os.fdopen(safe_open.open_file(folder, name), "rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino, "")


def _is_storable(path: str) -> bool:
    """Return whether the stored form of a path suffices to open the file again."""
    return file_names.is_storable(path) and len(file_names.to_stored(path).encode()) <= MAX_PATH
