"""A session's folder: the one place where tools read and write files, and the one door to it."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tools_app import beneath, disk_use
from tools_app.errors import ToolError
from tools_app.listing import Entry, in_units, overview, read_entries
from tools_app.paths import parts
from tools_app.sandbox.owner import Owner

MAX_WHOLE = 10 * 1000**2  # bytes of a file that may be held in memory


class Workspace:
    """Files below `root`. Paths are relative to it (`/workspace/` and `./` in front are tolerated).

    Every operation raises OutsideWorkspace for a path that leads out, and ToolError, with a sentence for the model,
    for what cannot be done. All of them may block: call them in a thread. `owner` is the (uid, gid) that programs
    of the sandbox run as; what is created belongs to it. `most` bounds the bytes that all files together may hold.
    """

    def __init__(self, root: Path, owner: Owner | None = None, most: int | None = None) -> None:
        self.root = root
        self.owner = owner
        self.most = most

    def make_root(self) -> Path:
        """The root, which exists from now on."""
        if not self.root.is_dir():
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.owner:
                os.chown(self.root, *self.owner)
        return self.root

    def is_file(self, path: str) -> bool:
        """Whether `path` is a regular file in here; nothing raises."""
        try:
            with self._place(path) as (parent, name):
                return stat.S_ISREG(os.lstat(name, dir_fd=parent).st_mode)
        except ToolError:
            return False

    def open_for_read(self, path: str) -> BinaryIO:
        """The regular file at `path`, open; the caller closes it."""
        with self._place(path) as (parent, name):
            return os.fdopen(beneath.open_file(parent, name), "rb")

    def read_bytes(self, path: str, limit: int = MAX_WHOLE) -> bytes:
        """The whole file, if it has at most `limit` bytes."""
        with self.open_for_read(path) as file:
            data = file.read(limit + 1)
            size = os.fstat(file.fileno()).st_size
        if len(data) > limit:
            raise ToolError(
                f"{path} has {in_units(size)}; at most {in_units(limit)} are read at once. "
                "Read a range of its lines (offset and limit), or use the shell."
            )
        return data

    def write_bytes(self, path: str, data: bytes) -> None:
        """Creates or replaces a file, as a whole or not at all; parent folders are made, its mode is kept."""
        self._require_room(path, len(data))
        with self._place(path, make=True) as (parent, name):
            mode = beneath.mode_to_keep(parent, name)
            temporary = f".{secrets.token_hex(8)}.tmp"
            try:
                with os.fdopen(os.open(temporary, beneath.NEW, 0o600, dir_fd=parent), "wb") as file:
                    file.write(data)
                    self._hand_over(file.fileno())
                    os.fchmod(file.fileno(), mode)
                os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            finally:
                with suppress(FileNotFoundError):  # after the replacement it is gone
                    os.unlink(temporary, dir_fd=parent)

    def append(self, path: str, data: bytes) -> None:
        """Adds to the end of a file, which is made if it does not exist."""
        self._require_room(path, len(data))
        with self._place(path, make=True) as (parent, name):
            try:
                descriptor = beneath.open_file(parent, name, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                self.write_bytes(path, data)
            else:
                with os.fdopen(descriptor, "ab") as file:
                    file.write(data)

    def entries(self, path: str = ".") -> list[Entry]:
        """What lies in the folder at `path`, by name."""
        with beneath.in_words(path), beneath.folder(self.make_root(), parts(path)) as folder:
            return sorted(read_entries(folder), key=lambda entry: entry.name)

    def move(self, source: str, target: str) -> None:
        """Renames a file, a link or a folder; nothing is overwritten."""
        with self._place(source) as (old_parent, old):
            os.lstat(old, dir_fd=old_parent)  # before folders are made for the target
            with self._place(target, make=True) as (parent, name):
                if beneath.exists(parent, name):
                    raise beneath.fault(errno.EEXIST)
                os.rename(old, name, src_dir_fd=old_parent, dst_dir_fd=parent)

    def delete(self, path: str) -> None:
        """Deletes a file, a link itself, or a folder with all that is in it."""
        with self._place(path) as (parent, name):
            beneath.remove(parent, name)

    def listing(self, limit: int = 50) -> str:
        """An overview of the first two levels, a line an entry."""
        return overview(self.entries(), self.entries, limit)

    def _require_room(self, path: str, size: int) -> None:
        if self.most is not None and disk_use.held(self.root, self.most) + size > self.most:
            raise ToolError(
                f"{path} was not written: the workspace would hold more than its {in_units(self.most)}. "
                "Delete what is not needed."
            )

    @contextmanager
    def _place(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder that holds `path`, and the name in it."""
        names = parts(path)
        if not names:
            raise ToolError(f"{path or 'The empty path'} is the workspace itself. Name something in it.")
        step = self._made_folder if make else beneath.open_folder
        with beneath.in_words(path), beneath.folder(self.make_root(), names[:-1], step) as parent:
            yield parent, names[-1]

    def _made_folder(self, parent: int, name: str) -> int:
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        except FileExistsError:
            return beneath.open_folder(parent, name)
        folder = beneath.open_folder(parent, name)
        self._hand_over(folder)
        return folder

    def _hand_over(self, descriptor: int) -> None:
        if self.owner:
            os.fchown(descriptor, *self.owner)
