"""The workspace: a session's folder, and the only access of tools to files."""

import errno
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

from tools_app.errors import ToolError
from tools_app.files import names as file_names
from tools_app.files import quota, safe_open
from tools_app.files.history import FileHistory
from tools_app.files.listing import FolderEntry, Overview, in_units, overview, read_entries
from tools_app.files.owner import Owner, hand_over, make_home, make_private
from tools_app.files.paths import LIBRARY, MOUNT, RESULTS, VIEW, parts

Step = Callable[[int, str], int]
Location = tuple[Path, tuple[str, ...]]
MAX_WHOLE = 10 * 1000**2  # bytes of a file that can be held in memory


class Workspace:
    """The files below `root`. Paths are relative to it; a leading `/workspace/`, `./` or the root itself is accepted.

    A path may use another spelling of the real file names (see `names`). All operations may block, so call them in a
    thread. They raise OutsideWorkspace for a path that leads outside, and ToolError with a sentence for the model for
    other failures.

    `owner` is the (uid, gid) of programs in the sandbox and of all created files. `most` bounds the bytes of all files,
    including `home`, the programs' home folder next to the workspace, which no tool reads. `history` stores earlier
    contents, if it is set. `is_isolated` tells that programs reach no temporary files or home but those of a sandbox.

    A delegated task reads files of other tasks through `views`: the first at `parent/`, the next at `parent/parent/`.
    Its root is inside these views, where programs can write. They cannot replace the `outermost` folder.

    The `shared_library` of a project is read at `library/`, unless the workspace has an own file or folder there.
    """

    def __init__(
        self,
        root: Path,
        owner: Owner | None = None,
        max_bytes: int | None = None,
        home: Path | None = None,
        history: FileHistory | None = None,
        views: Sequence[Path] = (),
    ) -> None:
        self._root, self._views, self.outermost = root, tuple(views), [root, *views][-1]
        self.owner, self.most, self.home, self.history = owner, max_bytes, home, history
        self.is_isolated = False
        self.shared_library: Path | None = None

    @property
    def root(self) -> Path:
        """The root.

        Raises: OutsideWorkspace if a program has replaced it, or a folder above it, by a link.
        """
        return safe_open.without_links(self.outermost, self._root)

    @property
    def views(self) -> tuple[Path, ...]:
        """The folders of the views.

        Raises: OutsideWorkspace under the same condition.
        """
        return tuple(safe_open.without_links(self.outermost, view) for view in self._views)

    @property
    def library(self) -> Path | None:
        """The shared library that is read at `library/`; None if the workspace's own takes its place."""
        return None if self.shared_library is None or self._has_own_library() else self.shared_library

    def _has_own_library(self) -> bool:
        """Return whether the workspace itself has something at `library`, other than the empty mount point."""
        try:
            with self._open_folder(self.root, [LIBRARY]) as folder, os.scandir(folder) as entries:
                return any(entries)
        except OSError:  # missing, or not a folder
            return os.path.lexists(self.root / LIBRARY)

    def make_root(self) -> Path:
        """Create the root if it is missing, and return it."""
        if not (root := self.root).is_dir():
            make_private(self.outermost, self.owner)
        if self._views:
            made = self._open_folder(root, (), partial(safe_open.make_folder, owner=self.owner))
            with safe_open.as_tool_errors("The folder of this session"), made:
                pass
        return root

    def prepare_for_commands(self) -> Path:
        """Create the root and the mount points of the first view and the library, and return the root."""
        root = self.make_root()
        mount_points = [VIEW] * bool(self._views) + [LIBRARY] * (self.library is not None)
        for name in mount_points:
            session = safe_open.as_tool_errors("The folder of this session")
            with session, self._open_folder(root, ()) as folder, suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
                with safe_open.folder(folder, [name]) as mount_point:
                    os.fchmod(mount_point, 0o755)  # the server's umask would make it unreadable for other programs
        return root

    def remove_mount_points(self) -> None:
        """Remove the mount points of a delegated task, unless they have content.

        Raises: OutsideWorkspace
        """
        if self._views:
            self._remove_mount_point(VIEW)
            self._remove_mount_point(LIBRARY)

    def _remove_mount_point(self, name: str) -> None:
        with suppress(OSError), self.open_root() as folder:
            os.rmdir(name, dir_fd=folder)

    def open_root(self) -> AbstractContextManager[int]:
        """Open the root, with the same safety as the files below it.

        Raises: OSError, OutsideWorkspace
        """
        return self._open_folder(self.root, ())

    def relative(self, path: str) -> str:
        """Return the path from the root if it is one on this machine, as a person may write it, or else itself.

        Paths of the sandbox take precedence.
        """
        if path.startswith("/") and not path.startswith(f"/{MOUNT}/"):
            for depth, folder in enumerate((self._root, *self._views)):
                if path == str(folder) or (folder.name and path.startswith(f"{folder}/")):
                    return "/".join(filter(None, [*[VIEW] * depth, path[len(str(folder)) + 1 :]])) or "."
        return path

    def parts(self, path: str) -> tuple[str, ...]:
        """Return the names from the root down to `path`. Raises: OutsideWorkspace, ToolError."""
        return parts(self.relative(path))

    def locate(self, path: str) -> Location:
        """Return the folder that contains `path`, which is the root or a view, and the real names below it."""
        root, names = self._locate_exactly(path)
        if names:
            with safe_open.as_tool_errors(path), self._open_folder(root, ()) as folder:
                names = file_names.resolve(folder, names)
        return root, names

    def _locate_exactly(self, path: str) -> Location:
        """Return the same, with the names as written."""
        root, names = self.make_root(), self.parts(path)
        for view in self.views:
            if names[:1] == (VIEW,):
                root, names = view, names[1:]
        if names[:1] == (LIBRARY,) and root == self.root and (library := self.library):
            root, names = library, names[1:]
        return root, names

    def _locate_stored(self, path: str) -> Location:
        """Return the same for a path from the history."""
        root, names = self._locate_exactly(path)
        return root, tuple(map(file_names.from_stored, names))

    def real_path(self, path: str) -> str:
        """Return the real path, from the root, of the file that `path` refers to."""
        written, (_, names) = self.parts(path), self.locate(path)
        return "/".join((*written[: len(written) - len(names)], *names))

    def make_home(self) -> Path | None:
        """Create the home of programs if it is missing, and return it."""
        if self.home and not self.home.is_dir():
            make_home(self.home, self.owner)
        return self.home

    def is_file(self, path: str) -> bool:
        """Return whether `path` is a regular file in the workspace. Never raises."""
        return stat.S_ISREG(self._mode(path))

    def is_in_library(self, path: str) -> bool:
        """Return whether `path` is read from the project's library."""
        return self.shared_library is not None and self._locate_exactly(path)[0] == self.shared_library

    def is_folder(self, path: str) -> bool:
        """Return whether exactly `path` is a folder, and not a link to one. Never raises."""
        return stat.S_ISDIR(self._mode(path, self._locate_exactly))

    def _mode(self, path: str, located: Callable[[str], Location] | None = None) -> int:
        """Return the mode of a file, or 0 if it is missing."""
        try:
            with self._open_parent(path, located=located) as (parent, name):
                return os.lstat(name, dir_fd=parent).st_mode
        except ToolError:
            return 0

    def present(self, folder: str, names: Sequence[str]) -> list[str]:
        """Return the names that exist in a folder, none if there is no such folder. Never raises."""
        try:
            root, path = self.locate(folder)
            with self._open_folder(root, path) as descriptor:
                return [name for name in names if os.access(name, os.F_OK, dir_fd=descriptor)]
        except (ToolError, OSError):
            return []

    def open_for_read(self, path: str) -> BinaryIO:
        """Open the regular file at `path`. The caller closes it."""
        with self._open_parent(path) as (parent, name):
            return os.fdopen(safe_open.open_file(parent, name), "rb")

    def read_bytes(self, path: str, limit: int = MAX_WHOLE) -> bytes:
        """Return the entire file, if it has at most `limit` bytes."""
        with self.open_for_read(path) as file:
            data = file.read(limit + 1)
            size = os.fstat(file.fileno()).st_size
        if len(data) > limit:
            raise ToolError(
                f"{path} has {in_units(size)}; at most {in_units(limit)} are read at once. "
                "Read a range of its lines (offset and limit), or use the shell."
            )
        return data

    def write_bytes(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Create or replace a file atomically. Missing parent folders are created, and the mode is preserved.

        An `executable` file becomes executable for everyone.
        """
        self._require_room(path, len(data))
        with self._replacement(path) as (parent, name, temporary):
            mode = safe_open.mode_for(parent, name) | (0o111 if executable else 0)
            self._write_new(parent, temporary, data, mode)

    def write_file(self, path: str, file: IO[bytes], size: int) -> None:
        """Write `size` bytes from `file` in the same way, without loading them into memory at the same time."""
        self._require_room(path, size)
        with self._replacement(path) as (parent, name, temporary):
            self._write_new(parent, temporary, file, safe_open.mode_for(parent, name))

    def restore(self, path: str, data: bytes, mode: int) -> None:
        """Restore a file or link from the history; `mode` is the st_mode of stat.

        An existing file or link is replaced, and so is a folder that contains no file.

        Raises: ToolError
        """
        self._require_room(path, len(data))
        if stat.S_ISDIR(self._mode(path, self._locate_stored)) and self._has_no_file(path):
            self.delete(path)
        with self._replacement(path, self._locate_stored) as (parent, _, temporary):
            if stat.S_ISLNK(mode):
                os.symlink(os.fsdecode(data), temporary, dir_fd=parent)
                if self.owner:
                    os.chown(temporary, *self.owner, dir_fd=parent, follow_symlinks=False)
            else:
                self._write_new(parent, temporary, data, stat.S_IMODE(mode) & 0o777)

    @contextmanager
    def _replacement(
        self, path: str, located: Callable[[str], Location] | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield the parent folder, the name in it, and a temporary name that replaces it after the block."""
        with self._open_parent(path, make=True, located=located) as (parent, name):
            temporary = f".{secrets.token_hex(8)}.tmp"
            try:
                yield parent, name, temporary
                os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            finally:
                with suppress(FileNotFoundError):  # after the replacement it no longer exists
                    os.unlink(temporary, dir_fd=parent)

    def _write_new(self, parent: int, name: str, data: bytes | IO[bytes], mode: int) -> None:
        with os.fdopen(os.open(name, safe_open.NEW, 0o600, dir_fd=parent), "wb") as file:
            shutil.copyfileobj(io.BytesIO(data) if isinstance(data, bytes) else data, file)
            hand_over(file.fileno(), self.owner)
            os.fchmod(file.fileno(), mode)

    def append(self, path: str, data: bytes) -> None:
        """Append to a file, which is created if it is missing."""
        self._require_room(path, len(data))
        with self._open_parent(path, make=True) as (parent, name):
            try:
                descriptor = safe_open.open_file(parent, name, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                self.write_bytes(path, data)
            else:
                with os.fdopen(descriptor, "ab") as file:
                    file.write(data)

    def entries(self, path: str = ".") -> list[FolderEntry]:
        """Return the entries of the folder at `path`, sorted by name."""
        root, names = self.locate(path)
        with safe_open.as_tool_errors(path), self._open_folder(root, names) as folder:
            return sorted(read_entries(folder), key=lambda entry: entry.name)

    def visible_entries(self, path: str = ".") -> list[FolderEntry]:
        """Return the same without the server's own folder in the root, unless `path` names it."""
        return [entry for entry in self.entries(path) if self.parts(path) or entry.name != RESULTS]

    def move(self, source: str, target: str) -> None:
        """Rename a file, link or folder, possibly to another spelling of its name. Never overwrite."""
        with self._open_parent(source, changes=True) as (old_parent, old):
            status = os.lstat(old, dir_fd=old_parent)  # before folders are created for the target
            with self._open_parent(target, make=True) as (parent, name):
                new_name = self.parts(target)[-1]
                if safe_open.exists(parent, name):
                    is_itself = os.path.samestat(status, os.lstat(name, dir_fd=parent))
                    if new_name == name or not is_itself:
                        raise safe_open.os_error(errno.EEXIST)
                os.rename(old, new_name, src_dir_fd=old_parent, dst_dir_fd=parent)

    def delete(self, path: str) -> None:
        """Delete a file, the link itself, or a folder with its content."""
        with self._open_parent(path, changes=True) as (parent, name):
            safe_open.remove(parent, name)

    def _has_no_file(self, folder: str) -> bool:
        return all(
            entry.kind == "folder" and self._has_no_file(f"{folder}/{file_names.as_text(entry.name)}")
            for entry in self.entries(folder)
        )

    def delete_with_empty_parents(self, path: str) -> None:
        """Delete a file or link of the history, if it exists, and the parent folders that become empty."""
        mode = self._mode(path, self._locate_stored)
        if not mode or stat.S_ISDIR(mode):  # the files of a folder have their own rows
            return
        with self._open_parent(path, changes=True, located=self._locate_stored) as (parent, name):
            safe_open.remove(parent, name)
        _, (*names, _) = self._locate_stored(path)
        with suppress(OSError):  # one is not empty, or is gone
            for depth in reversed(range(len(names))):
                with self._open_folder(self.root, names[:depth]) as parent:
                    os.rmdir(names[depth], dir_fd=parent)

    def exists(self, path: str) -> bool:
        """Return whether anything exists at exactly `path`, without following links. Never raises."""
        return not self.parts(path) or bool(self._mode(path, self._locate_exactly))

    def unrestorable(self, *paths: str) -> list[str]:
        """Return the files at or below `paths` that could not be restored after a deletion."""
        if self.history is None:
            return [path for path in paths if self.exists(self.real_path(path))]
        return self.history.unrestorable(
            self.open_root(), [file_names.to_stored(self.real_path(path)) for path in paths]
        )

    def overview(self, limit: int = 50) -> Overview:
        """Return an overview of the first two levels, one line an entry."""
        return overview(self.visible_entries(), self.entries, limit)

    def _require_room(self, path: str, size: int) -> None:
        folders = filter(None, [self.outermost, self.home])
        if self.most is not None and size + sum(quota.bytes_held(folder, self.most) for folder in folders) > self.most:
            raise ToolError(
                f"{path} was not written: the workspace would hold more than its {in_units(self.most)}. "
                "Delete what is not needed."
            )

    @contextmanager
    def _open_parent(
        self,
        path: str,
        *,
        make: bool = False,
        changes: bool = False,
        located: Callable[[str], Location] | None = None,
    ) -> Iterator[tuple[int, str]]:
        """Yield the open parent folder of `path` and the name in it. A path in a view can only be read."""
        root, names = (located or self.locate)(path)
        if root != self.root and (make or changes):
            whose = (
                "is in the project's library"
                if root == self.shared_library
                else "belongs to the task that delegated this one"
            )
            raise ToolError(f"{path} {whose}: you can only read it. Use a copy.")
        if not names:
            raise ToolError(f"{path or 'The empty path'} is the workspace itself. Name something in it.")
        step = partial(safe_open.make_folder, owner=self.owner) if make else safe_open.open_folder
        with safe_open.as_tool_errors(path), self._open_folder(root, names[:-1], step) as parent:
            yield parent, names[-1]

    def _open_folder(
        self, root: Path, names: Sequence[str], step: Step = safe_open.open_folder
    ) -> AbstractContextManager[int]:
        """Open a folder below the root or a view, without following links in any part that programs can write."""
        outermost = self.outermost_of(root)
        return safe_open.folder(outermost, [*root.relative_to(outermost).parts, *names], step)

    def outermost_of(self, root: Path) -> Path:
        """Return the folder at or above the root, a view or the library, that no program can replace."""
        return root if root == self.shared_library else self.outermost
