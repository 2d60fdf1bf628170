"""Copies between workspaces, and deletion of folders that programs have filled or closed. Links are not followed."""

import os
import secrets
import stat
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from tools_app.files import safe_open
from tools_app.files.listing import FolderEntry, read_entries
from tools_app.files.paths import MAX_DEPTH
from tools_app.files.workspace import Workspace

MAX_BYTES = 500_000_000
MAX_ENTRIES = 20_000
_CHUNK = 1024**2  # bytes


def copy(source: Workspace, target: Workspace, *, most_bytes: int = MAX_BYTES, most_entries: int = MAX_ENTRIES) -> int:
    """Copy files with their modes, and links as links. Return the number of omitted entries.

    Special files, unreadable files and entries beyond a bound are omitted. Files of a folder come before its
    subfolders.

    Raises: ToolError if the disk is full.
    """
    copying = _Copy(target, bytes=most_bytes, entries=most_entries)
    for space in (source, target):
        space.make_root()
    with safe_open.as_tool_errors("The copy"), source.open_root() as below, target.open_root() as copied:
        copying.folder(below, copied)
    return copying.left_out


@dataclass
class _Copy:
    """A copy in progress. `bytes` and `entries` are the remaining amounts."""

    target: Workspace
    bytes: int
    entries: int
    left_out: int = 0

    def folder(self, source: int, target: int, depth: int = MAX_DEPTH) -> None:
        for entry in sorted(read_entries(source), key=lambda entry: (entry.kind == "folder", entry.name)):
            self.entries -= 1
            try:
                fits = self.entries >= 0 and entry.size <= self.bytes
                if not (fits and self._entry(entry, source, target, depth)):
                    self.left_out += 1
            except OSError as error:
                safe_open.reraise_if_full(error)
                self.left_out += 1  # already gone, or not readable

    def _entry(self, entry: FolderEntry, source: int, target: int, depth: int) -> bool:
        if entry.kind == "file":
            self._file(entry.name, source, target)
        elif entry.kind == "link":
            os.symlink(entry.target, entry.name, dir_fd=target)
            self._hand_over(entry.name, target)
        elif entry.kind == "folder" and depth:
            self._inner(entry.name, source, target, depth)
        else:
            return False
        return True

    def _inner(self, name: str, source: int, target: int, depth: int) -> None:
        with ExitStack() as stack:
            inner = safe_open.open_folder(source, name)
            stack.callback(os.close, inner)
            os.mkdir(name, 0o755, dir_fd=target)
            self._hand_over(name, target)
            copy = safe_open.open_folder(target, name)
            stack.callback(os.close, copy)
            self.folder(inner, copy, depth - 1)

    def _file(self, name: str, source: int, target: int) -> None:
        """Copy at most the initial size of a file, even if it grows."""
        with os.fdopen(safe_open.open_file(source, name), "rb") as original:
            status = os.fstat(original.fileno())
            with os.fdopen(os.open(name, safe_open.NEW, 0o600, dir_fd=target), "wb") as copy:
                remaining = min(status.st_size, self.bytes)
                while remaining and (chunk := original.read(min(remaining, _CHUNK))):
                    copy.write(chunk)
                    remaining -= len(chunk)
                    self.bytes -= len(chunk)
                os.fchmod(copy.fileno(), stat.S_IMODE(status.st_mode) & 0o777)
            self._hand_over(name, target)

    def _hand_over(self, name: str, parent: int) -> None:
        if self.target.owner:
            os.chown(name, *self.target.owner, dir_fd=parent, follow_symlinks=False)


def remove_tree(folder: Path) -> None:
    """Delete a folder with its content; do nothing if it is missing.

    Subfolders are moved up first, so that recursion, paths and descriptors stay within limits at any depth.

    Raises: OSError
    """
    if not os.path.lexists(folder):
        return
    with safe_open.folder(folder.parent, [folder.name], safe_open.force_open_folder) as top:
        while names := os.listdir(top):
            for name in names:
                with suppress(FileNotFoundError):  # already gone
                    _remove(top, name)
    folder.rmdir()


def _remove(top: int, name: str) -> None:
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    with safe_open.folder(top, [name], safe_open.force_open_folder) as inner:
        for child in os.listdir(inner):
            if _is_folder(inner, child):
                os.close(safe_open.force_open_folder(inner, child))  # a closed folder cannot be moved
                os.rename(child, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inner)
    os.rmdir(name, dir_fd=top)


def _is_folder(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
