"""The files of a session's workspace as a tree."""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tasks_app.models import Session
from tasks_app.workspace.folders import files_of
from tools_app.errors import OutsideWorkspace, ToolError
from tools_app.files import IGNORED, FolderEntry, Workspace, as_text

MOST_ENTRIES = 300  # shown of one folder, and of all folders before one is opened
MOST_FOLDERS = 60  # folders read before one is opened


@dataclass(frozen=True, kw_only=True)
class Node:
    """A file or folder. `inside` is None for a folder that was not read: the page fetches it when it is opened."""

    entry: FolderEntry
    path: str
    inside: "Folder | None" = None
    is_open: bool = False

    @property
    def name(self) -> str:
        return as_text(self.entry.name)


@dataclass(frozen=True, kw_only=True)
class Folder:
    """The entries of a folder. `is_cut` says that a page does not show all of them."""

    nodes: Sequence[Node] = ()
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class FileTree:
    """The file tree of a session. `has_earlier` says that some files have earlier versions."""

    top: Folder
    has_earlier: bool


def tree_of(session: Session, *, is_folded: bool = False, opened: str = "") -> FileTree:
    """Return the outer folders up to a limit, or only the outermost one if `is_folded`.

    The folder `opened` is always read. The tree is empty if the workspace is a symbolic link.
    """
    top = None
    with suppress(OutsideWorkspace):
        workspace = files_of(session)
        listings = {"": _entries(workspace, "")} if is_folded else _listings(workspace, opened)
        top = _folder("", listings, opened)
    return FileTree(top=top or Folder(), has_earlier=session.changes.exists())


def folder_of(session: Session, path: str) -> Folder | None:
    """Return one folder without the contents of its folders, or None if it cannot be read."""
    with suppress(OutsideWorkspace):
        return _folder(path, {path: _entries(files_of(session), path)}, "")
    return None


def _listings(workspace: Workspace, opened: str) -> Mapping[str, Sequence[FolderEntry] | None]:
    """Read folders breadth first, with the folders above `opened` before all others. Ignored folders are not read."""
    listings: dict[str, Sequence[FolderEntry] | None] = {}
    folders, remaining = deque([""]), MOST_ENTRIES
    while folders and len(listings) < MOST_FOLDERS:
        path = folders.popleft()
        entries = _entries(workspace, path)
        count = min(len(entries or ()), MOST_ENTRIES)
        if count > remaining and not _is_at_or_above(opened, path):
            continue
        listings[path], remaining = entries, remaining - count
        for entry in (entries or ())[:count]:
            child_path = _child_path(path, entry)
            if entry.kind != "folder":
                continue
            if _is_at_or_above(opened, child_path):
                folders.appendleft(child_path)
            elif IGNORED.isdisjoint(child_path.split("/")):
                folders.append(child_path)
    return listings


def _folder(path: str, listings: Mapping[str, Sequence[FolderEntry] | None], opened: str) -> Folder | None:
    entries = listings.get(path)
    if entries is None:
        return None
    nodes = []
    for entry in entries[:MOST_ENTRIES]:
        child_path = _child_path(path, entry)
        is_open = entry.kind == "folder" and _is_at_or_above(opened, child_path)
        inside = _folder(child_path, listings, opened) if entry.kind == "folder" else None
        nodes.append(Node(entry=entry, path=child_path, inside=inside, is_open=is_open))
    return Folder(nodes=nodes, is_cut=len(entries) > MOST_ENTRIES)


def _child_path(path: str, entry: FolderEntry) -> str:
    return f"{path}/{as_text(entry.name)}".removeprefix("/")


def _is_at_or_above(opened: str, path: str) -> bool:
    return f"{opened}/".startswith(f"{path}/" if path else "")


def _entries(workspace: Workspace, path: str) -> Sequence[FolderEntry] | None:
    """Return folders, files and ignored folders, each sorted by name, without hidden entries.

    Return None for a folder that cannot be opened.

    Raises: OutsideWorkspace.
    """
    if not workspace.root.is_dir():
        return None
    try:
        entries = workspace.entries(path or ".")
    except OutsideWorkspace:
        raise
    except ToolError:
        return None
    visible = [entry for entry in entries if not entry.name.startswith(".")]
    return sorted(visible, key=lambda entry: (_sort_group(entry), entry.name.lower()))


def _sort_group(entry: FolderEntry) -> int:
    if entry.kind != "folder":
        return 1
    return 2 if entry.name in IGNORED else 0
