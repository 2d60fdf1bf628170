"""The entries of a folder, and their text for a model."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tools_app.errors import ToolError
from tools_app.files.names import as_text

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


def overview(top: Sequence[FolderEntry], inside: Callable[[str], Sequence[FolderEntry]], limit: int) -> str:
    """Return two levels of a tree in at most `limit` lines, and the number of entries that are not shown."""
    lines: list[str] = []
    total = 0
    for entry in top:
        inner = _inner(entry, inside)
        total += 1 + len(inner)
        lines.append(f"{entry} ({len(inner)} inside)" if inner else str(entry))
        lines += [f"  {child}" for child in inner[:_MAX_INNER] if not entry.name.startswith(".")]
    shown_lines = lines[:limit]
    if hidden := total - len(shown_lines):
        shown_lines.append(f"and {hidden} more")
    return "\n".join(shown_lines) or "(empty)"


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
