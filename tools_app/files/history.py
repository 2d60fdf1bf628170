"""The history of a workspace: file contents by their SHA-256, and the latest snapshot, in a folder outside of it.

We do not use git: this needs no program on the host, runs no configuration, hooks or filters of a repository written by
an agent, and treats nested repositories as ordinary folders.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tools_app.files import snapshot
from tools_app.files.snapshot import FileState, Snapshot

_SNAPSHOT_FILE = "snapshot.json"
_UNREPORTED_FILE = "untold"


@dataclass(frozen=True, kw_only=True)
class HistoryState:
    """The latest snapshot.

    `change` is the number of the newest change that it includes. File contents before the entry `since` are unknown.
    """

    snapshot: Snapshot
    change: int = 0
    since: int = 0


@dataclass(frozen=True, kw_only=True)
class HistoryBounds:
    """Bounds of one session's history: total `size` of stored contents in bytes, number of changes, and age in days."""

    size: int = 200 * 1000**2
    changes: int = 500
    days: int = 90


@dataclass(frozen=True)
class FileHistory:
    """The history in `folder`, which is created on first use."""

    folder: Path
    bounds: HistoryBounds = HistoryBounds()

    def take_snapshot(self, root: AbstractContextManager[int], previous: Snapshot) -> Snapshot:
        """Take a snapshot of the workspace opened by `root`, and store new contents."""
        return snapshot.take(root, previous, self.store, self._max_current_bytes)

    @property
    def _max_current_bytes(self) -> int:
        """The bytes available for current files. The other half is for changes that can be undone."""
        return self.bounds.size // 2

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a lock that excludes other processes and threads. It cannot be nested."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def store(self, data: bytes) -> str:
        """Store the content and return its SHA-256."""
        digest = hashlib.sha256(data).hexdigest()
        if not (path := self.content_path(digest)).exists():
            self._write_atomically(path, data)
        return digest

    def content_path(self, sha256: str) -> Path:
        return self.folder / sha256

    def load(self) -> HistoryState | None:
        """Return the latest snapshot, or None before the first."""
        try:
            stored = json.loads((self.folder / _SNAPSHOT_FILE).read_bytes())
        except FileNotFoundError:
            return None
        files = {path: FileState(*state) for path, state in stored["files"].items()}
        loaded = Snapshot(files=files, left_out=tuple(stored["left_out"]), taken_ns=stored["taken_ns"])
        return HistoryState(snapshot=loaded, change=stored["change"], since=stored["since"])

    def save(self, state: HistoryState) -> None:
        values = {
            "change": state.change,
            "since": state.since,
            "taken_ns": state.snapshot.taken_ns,
            "left_out": state.snapshot.left_out,
            "files": {path: list(file) for path, file in state.snapshot.files.items()},
        }
        data = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
        self._write_atomically(self.folder / _SNAPSHOT_FILE, data)

    def mark_unreported(self) -> None:
        """Record that a person has changed files without the agent's knowledge."""
        (self.folder / _UNREPORTED_FILE).touch()

    def unreported_mark(self) -> int:
        """Return a value that changes with each `mark_unreported`. It costs one system call."""
        try:
            return os.stat(f"{self.folder}/{_UNREPORTED_FILE}").st_mtime_ns  # no Path, because each step calls this
        except FileNotFoundError:
            return 0

    def delete_unused(self, needed: Collection[str]) -> None:
        """Delete contents whose digest is not in `needed`."""
        for file in self.folder.iterdir():
            if len(file.name) == 64 and file.name not in needed:
                file.unlink(missing_ok=True)

    def unrestorable(self, root: AbstractContextManager[int], paths: Sequence[str]) -> list[str]:
        """Return files at or below `paths` that could not be restored after a deletion. No `paths` means all.

        Caches and results of a build are omitted because programs recreate them. Folders end with a slash. `paths` must
        not contain `.` or `..`.
        """
        last = self.load()
        previous = last.snapshot if last else Snapshot()
        now = snapshot.take(root, previous, lambda data: hashlib.sha256(data).hexdigest(), self._max_current_bytes)
        files = [name for name, state in now.files.items() if not state.sha256]
        unheld = [name for name in [*sorted(files), *now.left_out] if snapshot.GENERATED.isdisjoint(_folders(name))]
        return [
            name
            for name in unheld
            if any(_is_within(name, path) or (name.endswith("/") and path.startswith(name)) for path in paths)
        ]

    def _write_atomically(self, path: Path, data: bytes) -> None:
        """Write a file atomically, so that a crash leaves no partial content."""
        temporary = path.with_name(f"{path.name[:8]}.{uuid4().hex}")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _folders(name: str) -> list[str]:
    """Return the names of the folders on a path: all of its parts but the name of a file."""
    return name.split("/")[:-1]


def _is_within(name: str, path: str) -> bool:
    return not path or name.rstrip("/") == path or name.startswith(f"{path}/")
