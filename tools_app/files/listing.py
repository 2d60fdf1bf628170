"""The entries of a folder, and their text for a model."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tools_app.errors import ToolError
from tools_app.files.names import as_text
from tools_app.files.snapshot import CACHES

Kind = Literal["file", "folder", "link", "other"]

_MAX_INNER = 10  # entries shown of a subfolder, so that a large one does not hide its neighbours


@dataclass(frozen=True, kw_only=True)
class FolderEntry:
    """An entry of a folder. `size` is in bytes and for files only; `target` is the text of a link."""

    name: str
    kind: Kind
    size: int = 0
    target: str = ""

    def __str__(self) -> str:
        name = as_text(self.name)
        match self.kind:
            case "file":
                return f"{name} ({in_units(self.size)})"
            case "folder":
                return f"{name}/"
            case "link":
                return f"{name} -> {as_text(self.target)} (link, not followed)"
        return f"{name} (not a regular file)"


def read_entries(folder: int) -> Iterator[FolderEntry]:
    """Yield the entries of an open folder, unordered. Entries that change during the call are omitted."""
    with os.scandir(folder) as items:
        for item in items:
            try:
                yield _entry(item, folder)
            except OSError:  # already gone, or no longer a link
                continue


def _entry(item: os.DirEntry[str], folder: int) -> FolderEntry:
    status = item.stat(follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        return FolderEntry(name=item.name, kind="file", size=status.st_size)
    if stat.S_ISDIR(status.st_mode):
        return FolderEntry(name=item.name, kind="folder")
    if stat.S_ISLNK(status.st_mode):
        return FolderEntry(name=item.name, kind="link", target=os.readlink(item.name, dir_fd=folder))
    return FolderEntry(name=item.name, kind="other")


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Two levels of a tree: `paths`, folders with a slash at their end, and their text for a model."""

    paths: Sequence[str]
    text: str

    def __str__(self) -> str:
        return self.text


def overview(top: Sequence[FolderEntry], inside: Callable[[str], Sequence[FolderEntry]], limit: int) -> Overview:
    """Return two levels of a tree: as text in at most `limit` lines, and the number of entries that are not shown.

    Folders that programs recreate come last, without their contents.
    """
    lines, paths = list[str](), list[str]()
    total = 0
    for entry in _caches_last(top):
        inner = _inner(entry, inside)
        total += 1 + len(inner)
        lines.append(f"{entry} ({len(inner)} inside)" if inner else str(entry))
        if not entry.name.startswith(".") and entry.name not in CACHES:
            children = _caches_last(inner)
            lines += [f"  {child}" for child in children[:_MAX_INNER]]
            paths += [_path(entry), *(f"{entry.name}/{_path(child)}" for child in children)]
    shown_lines = lines[:limit]
    if hidden := total - len(shown_lines):
        shown_lines.append(f"and {hidden} more")
    return Overview(paths=paths, text="\n".join(shown_lines) or "(empty)")


def _caches_last(entries: Sequence[FolderEntry]) -> Sequence[FolderEntry]:
    return sorted(entries, key=lambda entry: entry.name in CACHES)


def _path(entry: FolderEntry) -> str:
    return f"{entry.name}/" if entry.kind == "folder" else entry.name


def _inner(entry: FolderEntry, inside: Callable[[str], Sequence[FolderEntry]]) -> Sequence[FolderEntry]:
    if entry.kind != "folder":
        return []
    try:
        return inside(entry.name)
    except ToolError:  # gone or not readable: an overview shows only what is accessible
        return []


def in_units(size: int) -> str:
    """Return a size in bytes for people, such as 1.2 MB."""
    if size < 1000:
        return f"{size} B"
    if size < 1000**2:
        return f"{size / 1000:.1f} kB"
    if size < 1000**3:
        return f"{size / 1000**2:.1f} MB"
    return f"{size / 1000**3:.1f} GB"
