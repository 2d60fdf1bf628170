"""Opening of files below a folder, one name at a time.

Symbolic links are never followed, not even those created during the walk. Each step opens a name within the folder that
is already open, so replacing a folder by a link has no effect.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools_app.errors import OutsideWorkspace, ToolError
from tools_app.files.owner import Owner, hand_over
from tools_app.files.paths import MAX_DEPTH

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # NONBLOCK because opening a FIFO would wait for its other end
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_SENTENCES = {
    errno.ENOENT: "There is no {path} in the workspace.",
    errno.EISDIR: "{path} is a folder, not a file.",
    errno.ENOTDIR: "{path} is not a folder, or a part of it is a file.",
    errno.ELOOP: "{path} is a symbolic link, or leads through one; links are not followed here. Use the real path.",
    errno.EEXIST: "{path} exists already. Delete it first, or use another name.",
    errno.EINVAL: "A folder cannot be moved into itself: {path}.",
    errno.ENXIO: "{path} is not a regular file.",
    errno.ENOSPC: "The disk is full: {path} was not written.",
    errno.EDQUOT: "The disk is full: {path} was not written.",
}


def open_folder(parent: int, name: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except NotADirectoryError as error:  # Linux reports this for links too
        if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
            raise os_error(errno.ELOOP) from error
        raise


def force_open_folder(parent: int, name: str) -> int:
    """Open a folder, after making it accessible if a command has closed it."""
    try:
        return open_folder(parent, name)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)  # this exact folder, even if a link has replaced it
        finally:
            os.close(handle)
        return open_folder(parent, name)


def make_folder(parent: int, name: str, owner: Owner | None) -> int:
    """Create a folder if it is missing, and open it."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return open_folder(parent, name)
    descriptor = open_folder(parent, name)
    hand_over(descriptor, owner)
    return descriptor


def without_links(within: Path, root: Path) -> Path:
    """Return `root`.

    Raises: OutsideWorkspace if `root`, or a folder between it and `within`, is a link.
    """
    for path in (root, *root.parents):
        if path == within:
            break
        if path.is_symlink():
            raise OutsideWorkspace("The folder of this session was replaced by a link. Delete the link.")
    return root


@contextmanager
def folder(
    root: str | os.PathLike[str] | int, names: Sequence[str], step: Callable[[int, str], int] = open_folder
) -> Iterator[int]:
    """Yield a descriptor of the folder at `names` below `root`, a path or an open folder.

    Raises: OSError
    """
    path, within = (".", root) if isinstance(root, int) else (root, None)
    current = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=within)
    try:
        for name in names:
            inner = step(current, name)
            os.close(current)
            current = inner
        yield current
    finally:
        os.close(current)


def open_file(parent: int, name: str, access: int = os.O_RDONLY) -> int:
    """Return a descriptor of the regular file `name`.

    Raises: OSError for anything else, such as a FIFO, a device or a socket.
    """
    descriptor = os.open(name, FILE | access, dir_fd=parent)
    try:
        require_regular_file(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def require_regular_file(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise os_error(errno.ELOOP)
    if stat.S_ISDIR(status.st_mode):
        raise os_error(errno.EISDIR)
    if not stat.S_ISREG(status.st_mode):
        raise os_error(errno.ENXIO)


def reraise_if_full(error: OSError) -> None:
    """Raise `error` again if the disk is full, because further writes would fail too."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise error


def exists(parent: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):  # an escaped spelling can exceed the limit
            return False
        raise
    return True


def mode_for(parent: int, name: str) -> int:
    """Return the permissions of the existing file, or those of a new one."""
    if not exists(parent, name):
        return 0o644
    status = os.lstat(name, dir_fd=parent)
    require_regular_file(status)
    return stat.S_IMODE(status.st_mode) & 0o777


def remove(parent: int, name: str, depth: int = MAX_DEPTH) -> None:
    """Delete a file, the link itself, or a folder with its content."""
    if stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
        _empty(parent, name, depth)
        os.rmdir(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)


def _empty(parent: int, name: str, depth: int) -> None:
    if not depth:
        raise ToolError(f"Not all was deleted: deeper than {MAX_DEPTH} folders. Use the shell for it.")
    inner = open_folder(parent, name)
    try:
        for child in os.listdir(inner):
            remove(inner, child, depth - 1)
    finally:
        os.close(inner)


@contextmanager
def as_tool_errors(path: str) -> Iterator[None]:
    """Turn system errors about `path` into a ToolError with a sentence for the model."""
    try:
        yield
    except OSError as error:
        sentence = _SENTENCES.get(error.errno or 0, "{path}: " + (error.strerror or "cannot be used") + ".")
        raise ToolError(sentence.format(path=path)) from error


def os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
