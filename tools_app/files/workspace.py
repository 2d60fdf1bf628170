"""A session's folder: the only place where tools read and write files, and the only access to it."""

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
from tools_app.files.listing import Entry, in_units, overview, read_entries
from tools_app.files.owner import Owner, hand_over, make_home, make_private
from tools_app.files.paths import RESULTS, VIEW, parts

Step = Callable[[int, str], int]
Located = tuple[Path, tuple[str, ...]]
MAX_WHOLE = 10 * 1000**2  # bytes of a file that may be held in memory


class Workspace:
    """Files below `root`. Paths are relative to it (`/workspace/` and `./` in front are tolerated).

    A path may be written in another spelling than the names of its folders and file have (`names`).

    Every operation raises OutsideWorkspace for a path that leads out, and ToolError, with a sentence for the model,
    for what cannot be done. All of them may block: call them in a thread. `owner` is the (uid, gid) that programs
    of the sandbox run as; what is created belongs to it. `most` bounds the bytes that all files together may hold, with
    those of `home`: the folder beside it that programs have as theirs, which no tool reads. `history` is where earlier
    contents are kept, if they are. A delegated task reads what others have in `views`: the first is at `parent/`, the
    next at `parent/parent/`. Its root lies in those, where programs can write; the `outermost` they cannot replace.
    """

    def __init__(
        self,
        root: Path,
        owner: Owner | None = None,
        most: int | None = None,
        home: Path | None = None,
        history: FileHistory | None = None,
        views: Sequence[Path] = (),
    ) -> None:
        self._root, self._views, self.outermost = root, tuple(views), [root, *views][-1]
        self.owner, self.most, self.home, self.history = owner, most, home, history

    @property
    def root(self) -> Path:
        """Raises OutsideWorkspace where a program has put a link in its place, or above it."""
        return safe_open.without_links(self.outermost, self._root)

    @property
    def views(self) -> tuple[Path, ...]:
        """Raises OutsideWorkspace as well."""
        return tuple(safe_open.without_links(self.outermost, view) for view in self._views)

    def make_root(self) -> Path:
        """The root, which exists from now on."""
        if not (root := self.root).is_dir():
            make_private(self.outermost, self.owner)
        if self._views:
            made = self._folder(root, (), partial(safe_open.made_folder, owner=self.owner))
            with safe_open.in_words("The folder of this session"), made:
                pass
        return root

    def make_for_commands(self) -> Path:
        """Return the root, which exists from now on, with the folder at which commands find the first view."""
        root = self.make_root()
        if self._views:
            session = safe_open.in_words("The folder of this session")
            with session, self._folder(root, ()) as folder, suppress(FileExistsError):
                os.mkdir(VIEW, dir_fd=folder)
                with safe_open.folder(folder, [VIEW]) as mount_point:
                    os.fchmod(mount_point, 0o755)  # by the server's umask, no other program could read it
        return root

    def remove_mount_point(self) -> None:
        """Remove that folder, unless something has been put there. Raises OutsideWorkspace."""
        if self._views:
            with suppress(OSError), self.opened() as folder:
                os.rmdir(VIEW, dir_fd=folder)

    def opened(self) -> AbstractContextManager[int]:
        """A descriptor of the root, as safe as all below it. Raises OSError and OutsideWorkspace."""
        return self._folder(self.root, ())

    def located(self, path: str) -> Located:
        """Return the folder that `path` is really below, the root or a view, and the real names from there on."""
        root, names = self._exactly(path)
        if names:
            with safe_open.in_words(path), self._folder(root, ()) as folder:
                names = file_names.meant(folder, names)
        return root, names

    def _exactly(self, path: str) -> Located:
        """Return the same with the names as they are written."""
        root, names = self.make_root(), parts(path)
        for view in self.views:
            if names[:1] == (VIEW,):
                root, names = view, names[1:]
        return root, names

    def _stored(self, path: str) -> Located:
        """Return the same for a path of the history."""
        root, names = self._exactly(path)
        return root, tuple(map(file_names.from_stored, names))

    def real_path(self, path: str) -> str:
        """Return the path of what `path` means, from the root on."""
        written, (_, names) = parts(path), self.located(path)
        return "/".join((*written[: len(written) - len(names)], *names))

    def make_home(self) -> Path | None:
        """The home of programs, which exists from now on, with a name for their commits."""
        if self.home and not self.home.is_dir():
            make_home(self.home, self.owner)
        return self.home

    def is_file(self, path: str) -> bool:
        """Whether `path` is a regular file in here; nothing raises."""
        return stat.S_ISREG(self._mode(path))

    def is_folder(self, path: str) -> bool:
        """Return whether exactly `path` is a folder in here, and no link to one. Never raises."""
        return stat.S_ISDIR(self._mode(path, self._exactly))

    def _mode(self, path: str, located: Callable[[str], Located] | None = None) -> int:
        """0 for what is not there."""
        try:
            with self._place(path, located=located) as (parent, name):
                return os.lstat(name, dir_fd=parent).st_mode
        except ToolError:
            return 0

    def open_for_read(self, path: str) -> BinaryIO:
        """The regular file at `path`, open; the caller closes it."""
        with self._place(path) as (parent, name):
            return os.fdopen(safe_open.open_file(parent, name), "rb")

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

    def write_bytes(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Creates or replaces a file, as a whole or not at all; parent folders are made, its mode is kept.

        An `executable` one may be run by everyone from now on.
        """
        self._require_room(path, len(data))
        with self._replaced(path) as (parent, name, temporary):
            mode = safe_open.mode_to_keep(parent, name) | (0o111 if executable else 0)
            self._write_new(parent, temporary, data, mode)

    def write_file(self, path: str, file: IO[bytes], size: int) -> None:
        """The same with what is read from `file`, of `size` bytes, which are never in memory together."""
        self._require_room(path, size)
        with self._replaced(path) as (parent, name, temporary):
            self._write_new(parent, temporary, file, safe_open.mode_to_keep(parent, name))

    def put_back(self, path: str, data: bytes, mode: int) -> None:
        """Make a file of the history, or a link to `data`, what it was: `mode` is as stat has it.

        A file or a link in its place is replaced, and so is a folder that holds no file. Raises ToolError.
        """
        self._require_room(path, len(data))
        if stat.S_ISDIR(self._mode(path, self._stored)) and self._holds_no_file(path):
            self.delete(path)
        with self._replaced(path, self._stored) as (parent, _, temporary):
            if stat.S_ISLNK(mode):
                os.symlink(os.fsdecode(data), temporary, dir_fd=parent)
                if self.owner:
                    os.chown(temporary, *self.owner, dir_fd=parent, follow_symlinks=False)
            else:
                self._write_new(parent, temporary, data, stat.S_IMODE(mode) & 0o777)

    @contextmanager
    def _replaced(self, path: str, located: Callable[[str], Located] | None = None) -> Iterator[tuple[int, str, str]]:
        """The folder, the name in it, and a temporary name; what the block made of that takes the place of the name."""
        with self._place(path, make=True, located=located) as (parent, name):
            temporary = f".{secrets.token_hex(8)}.tmp"
            try:
                yield parent, name, temporary
                os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            finally:
                with suppress(FileNotFoundError):  # after the replacement it is gone
                    os.unlink(temporary, dir_fd=parent)

    def _write_new(self, parent: int, name: str, data: bytes | IO[bytes], mode: int) -> None:
        with os.fdopen(os.open(name, safe_open.NEW, 0o600, dir_fd=parent), "wb") as file:
            shutil.copyfileobj(io.BytesIO(data) if isinstance(data, bytes) else data, file)
            hand_over(file.fileno(), self.owner)
            os.fchmod(file.fileno(), mode)

    def append(self, path: str, data: bytes) -> None:
        """Adds to the end of a file, which is made if it does not exist."""
        self._require_room(path, len(data))
        with self._place(path, make=True) as (parent, name):
            try:
                descriptor = safe_open.open_file(parent, name, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                self.write_bytes(path, data)
            else:
                with os.fdopen(descriptor, "ab") as file:
                    file.write(data)

    def entries(self, path: str = ".") -> list[Entry]:
        """What lies in the folder at `path`, by name."""
        root, names = self.located(path)
        with safe_open.in_words(path), self._folder(root, names) as folder:
            return sorted(read_entries(folder), key=lambda entry: entry.name)

    def listed(self, path: str = ".") -> list[Entry]:
        """The same, without what the server itself keeps in the root; that must be named."""
        return [entry for entry in self.entries(path) if parts(path) or entry.name != RESULTS]

    def move(self, source: str, target: str) -> None:
        """Renames a file, a link or a folder, also to another spelling of its name; nothing is overwritten."""
        with self._place(source, changes=True) as (old_parent, old):
            status = os.lstat(old, dir_fd=old_parent)  # before folders are made for the target
            with self._place(target, make=True) as (parent, name):
                wanted = parts(target)[-1]
                if safe_open.exists(parent, name):
                    is_itself = os.path.samestat(status, os.lstat(name, dir_fd=parent))
                    if wanted == name or not is_itself:
                        raise safe_open.fault(errno.EEXIST)
                os.rename(old, wanted, src_dir_fd=old_parent, dst_dir_fd=parent)

    def delete(self, path: str) -> None:
        """Deletes a file, a link itself, or a folder with all that is in it."""
        with self._place(path, changes=True) as (parent, name):
            safe_open.remove(parent, name)

    def _holds_no_file(self, folder: str) -> bool:
        return all(
            entry.kind == "folder" and self._holds_no_file(f"{folder}/{file_names.as_text(entry.name)}")
            for entry in self.entries(folder)
        )

    def delete_emptied(self, path: str) -> None:
        """Delete a file or a link of the history, if it is there, and the folders above it that are empty then."""
        mode = self._mode(path, self._stored)
        if not mode or stat.S_ISDIR(mode):  # what is in a folder has rows, too
            return
        with self._place(path, changes=True, located=self._stored) as (parent, name):
            safe_open.remove(parent, name)
        _, (*names, _) = self._stored(path)
        with suppress(OSError):  # one has something in it, or is gone
            for depth in reversed(range(len(names))):
                with self._folder(self.root, names[:depth]) as parent:
                    os.rmdir(names[depth], dir_fd=parent)

    def exists(self, path: str) -> bool:
        """Return whether anything is at exactly `path`, unless a link leads there. Never raises."""
        return not parts(path) or bool(self._mode(path, self._exactly))

    def unheld(self, *paths: str) -> list[str]:
        """What of files, or of folders with all in them, could not be brought back if they were deleted now."""
        if self.history is None:
            return [path for path in paths if self.exists(self.real_path(path))]
        return self.history.unheld(self.opened(), [file_names.stored(self.real_path(path)) for path in paths])

    def listing(self, limit: int = 50) -> str:
        """An overview of the first two levels, a line an entry."""
        return overview(self.listed(), self.entries, limit)

    def _require_room(self, path: str, size: int) -> None:
        folders = filter(None, [self.outermost, self.home])
        if self.most is not None and size + sum(quota.bytes_held(each, self.most) for each in folders) > self.most:
            raise ToolError(
                f"{path} was not written: the workspace would hold more than its {in_units(self.most)}. "
                "Delete what is not needed."
            )

    @contextmanager
    def _place(
        self,
        path: str,
        *,
        make: bool = False,
        changes: bool = False,
        located: Callable[[str], Located] | None = None,
    ) -> Iterator[tuple[int, str]]:
        """The open folder that holds `path`, and the name in it. What leads into a view is never made or changed."""
        root, names = (located or self.located)(path)
        if root != self.root and (make or changes):
            raise ToolError(f"{path} belongs to the task that delegated this one: you can only read it. Use a copy.")
        if not names:
            raise ToolError(f"{path or 'The empty path'} is the workspace itself. Name something in it.")
        step = partial(safe_open.made_folder, owner=self.owner) if make else safe_open.open_folder
        with safe_open.in_words(path), self._folder(root, names[:-1], step) as parent:
            yield parent, names[-1]

    def _folder(
        self, root: Path, names: Sequence[str], step: Step = safe_open.open_folder
    ) -> AbstractContextManager[int]:
        """One below the root or a view, open: no link on the way is followed, from where programs can write."""
        return safe_open.folder(self.outermost, [*root.relative_to(self.outermost).parts, *names], step)
