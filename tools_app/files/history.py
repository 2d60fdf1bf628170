"""The history of a workspace, in a folder outside of it: contents of files under their SHA-256, and the last snapshot.

Ours rather than git: no program that must exist on the host, no configuration, hooks or filters of a repository that an
agent wrote, and nested repositories are ordinary folders.
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

_NEWEST = "snapshot.json"
_UNTOLD = "untold"


@dataclass(frozen=True, kw_only=True)
class LastLook:
    """`change` is the number of the newest change that is in the snapshot. What files held before the entry `since` is
    not known.
    """

    snapshot: Snapshot
    change: int = 0
    since: int = 0


@dataclass(frozen=True, kw_only=True)
class HistoryBounds:
    """Of one session: `size` in bytes of all contents that are kept, number of changes, and their age in days."""

    size: int = 200 * 1000**2
    changes: int = 500
    days: int = 90


@dataclass(frozen=True)
class FileHistory:
    """`folder` is made when there is something to keep."""

    folder: Path
    bounds: HistoryBounds = HistoryBounds()

    def taken(self, root: AbstractContextManager[int], before: Snapshot) -> Snapshot:
        """The workspace that is opened, as it is now, with the contents that are new stored."""
        return snapshot.take(root, before, self.keep, self._most_now)

    @property
    def _most_now(self) -> int:
        """Bytes of all files as they are now: the changes that can be undone take as much again."""
        return self.bounds.size // 2

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process or thread at a time. Not to be nested."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def keep(self, data: bytes) -> str:
        """The SHA-256 under which the content is stored from now on."""
        digest = hashlib.sha256(data).hexdigest()
        if not (place := self.content(digest)).exists():
            self._write(place, data)
        return digest

    def content(self, sha256: str) -> Path:
        return self.folder / sha256

    def load(self) -> LastLook | None:
        """None if nobody has looked yet."""
        try:
            stored = json.loads((self.folder / _NEWEST).read_bytes())
        except FileNotFoundError:
            return None
        files = {path: FileState(*state) for path, state in stored["files"].items()}
        taken = Snapshot(files=files, left_out=tuple(stored["left_out"]), taken_ns=stored["taken_ns"])
        return LastLook(snapshot=taken, change=stored["change"], since=stored["since"])

    def save(self, look: LastLook) -> None:
        taken = look.snapshot
        files = {path: list(state) for path, state in taken.files.items()}
        stored = {"change": look.change, "since": look.since, "taken_ns": taken.taken_ns, "left_out": taken.left_out}
        self._write(
            self.folder / _NEWEST,
            json.dumps({**stored, "files": files}, ensure_ascii=False, separators=(",", ":")).encode(),
        )

    def mark_untold(self) -> None:
        """A person has changed files, and the agent does not know of it."""
        (self.folder / _UNTOLD).touch()

    def untold_mark(self) -> int:
        """Another one after each `mark_untold`; costs one system call."""
        try:
            return os.stat(f"{self.folder}/{_UNTOLD}").st_mtime_ns  # without a Path: each step asks
        except FileNotFoundError:
            return 0

    def forget_all_but(self, needed: Collection[str]) -> None:
        """Deletes the contents that nothing refers to."""
        for file in self.folder.iterdir():
            if len(file.name) == 64 and file.name not in needed:
                file.unlink(missing_ok=True)

    def unheld(self, root: AbstractContextManager[int], paths: Sequence[str]) -> list[str]:
        """What lies at or below one of `paths` (all: empty) and could not be brought back if it were deleted now.

        Caches are left out: programs make them anew. Folders end with a slash. Paths have no `.` or `..` in them.
        """
        last = self.load()
        before = last.snapshot if last else Snapshot()
        now = snapshot.take(root, before, lambda data: hashlib.sha256(data).hexdigest(), self._most_now)
        files = [name for name, state in now.files.items() if not state.sha256]
        folders = [name for name in now.left_out if name.rstrip("/").rpartition("/")[2] not in snapshot.CACHES]
        return [
            name
            for name in [*sorted(files), *folders]
            if any(_is_within(name, path) or (name.endswith("/") and path.startswith(name)) for path in paths)
        ]

    def _write(self, place: Path, data: bytes) -> None:
        """A crash in the middle leaves no half of it."""
        part = place.with_name(f"{place.name[:8]}.{uuid4().hex}")
        try:
            part.write_bytes(data)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)


def _is_within(name: str, path: str) -> bool:
    return not path or name.rstrip("/") == path or name.startswith(f"{path}/")
