"""Folders as tar archives. Agents may change their contents during a backup, so no link in them is followed."""

import errno
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from django.conf import settings

from agentsite.backup import BackupError
from tools_app.files import safe_open

MAX_DEPTH = 200  # nested folders; deeper ones are left out and reported
_REPLACED = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ENXIO)  # replaced since it was listed


def folders() -> dict[str, Path]:
    """Return the folders that are backed up, by name."""
    of_sessions = (settings.WORKSPACES_DIR, settings.HOMES_DIR, settings.VERSIONS_DIR)
    paths = (*of_sessions, settings.LIBRARY_DIR, settings.SKILLS_DIR)
    return {Path(path).name: Path(path) for path in paths}


@dataclass
class Archive:
    """An archive that is being written, with counts of its contents."""

    tar: tarfile.TarFile
    files: int = 0
    bytes: int = 0
    left_out: list[str] = field(default_factory=list)

    def add_folder(self, parent: int, path: str) -> None:
        """Add the contents of the open folder `parent` below `path`. Entries that vanish are skipped."""
        for name in sorted(os.listdir(parent)):
            entry_path = f"{path}/{name}" if path else name
            try:
                self._add(parent, name, entry_path)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._leave_out(parent, name, entry_path, error)

    def _leave_out(self, parent: int, name: str, path: str, error: OSError) -> None:
        """Leave out an entry that an agent has replaced, or made unreadable for its owner.

        Raises: BackupError if the entry has another owner; `error` for other reasons.
        """
        is_forbidden = isinstance(error, PermissionError)
        if is_forbidden and _owner(parent, name) != os.geteuid():
            raise BackupError(f"{path} cannot be read: run this as the server's user or as root.") from error
        if not is_forbidden and error.errno not in _REPLACED:
            raise error
        self.left_out.append(path)

    def _add(self, parent: int, name: str, path: str) -> None:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            self._add_inner(parent, name, path)
        elif stat.S_ISREG(status.st_mode):
            self._add_file(parent, name, path)
        elif stat.S_ISLNK(status.st_mode):
            info = _info(path, status, tarfile.SYMTYPE)
            info.linkname = os.readlink(name, dir_fd=parent)
            self.tar.addfile(info)
        else:
            self.left_out.append(path)

    def _add_inner(self, parent: int, name: str, path: str) -> None:
        if path.count("/") >= MAX_DEPTH:
            self.left_out.append(path)
            return
        with ExitStack() as stack:
            folder = os.open(name, safe_open.FOLDER, dir_fd=parent)
            stack.callback(os.close, folder)
            self.tar.addfile(_info(path, os.fstat(folder), tarfile.DIRTYPE))
            self.add_folder(folder, path)

    def _add_file(self, parent: int, name: str, path: str) -> None:
        with os.fdopen(os.open(name, safe_open.FILE, dir_fd=parent), "rb") as file:
            info = _info(path, os.fstat(file.fileno()), tarfile.REGTYPE)
            self.tar.addfile(info, _ExactSizeReader(file, info.size))
        self.files += 1
        self.bytes += info.size


def _owner(parent: int, name: str) -> int:
    """Return the owner of an entry, or of the folder if the entry cannot be examined."""
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_uid
    except OSError:
        return os.fstat(parent).st_uid


class _ExactSizeReader(io.RawIOBase):
    """A file with exactly the announced size: if it was truncated since, zeros follow."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._remaining = file, size

    def read(self, size: int = -1) -> bytes:
        count = self._remaining if size < 0 else min(size, self._remaining)
        self._remaining -= count
        return self._file.read(count).ljust(count, b"\0")


def _info(path: str, status: os.stat_result, kind: bytes) -> tarfile.TarInfo:
    """Return a header with a numeric owner, which does not depend on user names."""
    info = tarfile.TarInfo(path)
    info.type, info.mode = kind, status.st_mode & 0o777
    info.uid, info.gid, info.mtime = status.st_uid, status.st_gid, int(status.st_mtime)
    info.size = status.st_size if kind == tarfile.REGTYPE else 0
    return info


def write(folder: Path) -> Iterator[tuple[str, Archive]]:
    """Write an archive of each existing folder. Yield its name and the archive."""
    for name, source in folders().items():
        if source.is_dir():
            with tarfile.open(folder / f"{name}.tar", "w", format=tarfile.PAX_FORMAT) as tar:
                archive = Archive(tar)
                with safe_open.folder(source, ()) as descriptor:
                    archive.add_folder(descriptor, "")
            yield name, archive


def exclusion_sentence() -> str:
    """Return a sentence about files that a backup does not contain, '' if it contains all."""
    bucket = settings.STORAGES["default"]["OPTIONS"].get("bucket_name")
    return f"The files of projects are in the bucket {bucket}, not in a backup: copy that as well." if bucket else ""


def non_empty_folders() -> Sequence[Path]:
    """Return the folders that are not empty."""
    return [folder for folder in folders().values() if folder.is_dir() and any(folder.iterdir())]


def unpack(folder: Path) -> Iterator[tuple[str, Path]]:
    """Unpack each archive into a new folder next to its destination, with owners. Yield its name and the folder."""
    for name, destination in folders().items():
        archive = folder / f"{name}.tar"
        if archive.exists():
            fresh = destination.with_name(f"{destination.name}.restored")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(mode=0o700, parents=True)
            with tarfile.open(archive) as tar:
                _check(tar, archive)
                tar.extractall(fresh, numeric_owner=True)  # noqa: S202  checked
            yield name, fresh


def _check(tar: tarfile.TarFile, archive: Path) -> None:
    """Check that no entry leads out of the folder.

    The filters of `tarfile` need Python 3.11.4, and the default one of 3.14 refuses links that a backup may contain.

    Raises: BackupError for an entry that `write` never creates.
    """
    tar.extraction_filter = lambda member, _: member
    links: set[str] = set()
    for member in tar:
        parts = PurePosixPath(member.name).parts
        prefixes = {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
        leads_out = member.name.startswith("/") or ".." in parts or bool(prefixes & links)
        if leads_out or not (member.isreg() or member.isdir() or member.issym()):
            raise BackupError(f"{archive} has an entry that no backup has: {member.name}.")
        if member.issym():
            links.add("/".join(parts))


def replace_folder(fresh: Path) -> None:
    """Replace the existing folder by the unpacked one."""
    destination = fresh.with_name(fresh.name.removesuffix(".restored"))
    if destination.exists():
        shutil.rmtree(destination)
    fresh.rename(destination)
