"""The files of a session's workspace, as a tree that a page can show."""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tasks_app.models import Session
from tasks_app.workspaces import files_of
from tools_app.errors import OutsideWorkspace, ToolError
from tools_app.files import Entry, Workspace, as_text

MOST_ENTRIES = 300  # shown of one workspace
MOST_FOLDERS = 60  # opened


@dataclass(frozen=True, kw_only=True)
class Node:
    """A file or folder."""

    entry: Entry
    path: str
    children: list["Node"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return as_text(self.entry.name)


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The outer entries come first when there are too many; `is_cut` says that some are not shown, `has_earlier` that
    there are earlier versions of some.
    """

    nodes: Sequence[Node]
    is_cut: bool
    has_earlier: bool


def tree_of(session: Session) -> Tree:
    """Empty where a program or a person has put a link in the place of the workspace."""
    nodes: list[Node] = []
    is_cut = False
    with suppress(OutsideWorkspace):
        nodes, is_cut = _walk(files_of(session))
    return Tree(nodes=nodes, is_cut=is_cut, has_earlier=session.changes.exists())


def _walk(workspace: Workspace) -> tuple[list[Node], bool]:
    """Breadth first, within both bounds. Hidden entries are left out."""
    if not workspace.root.is_dir():
        return [], False
    top: list[Node] = []
    folders = deque([("", top)])
    shown = opened = 0
    while folders and opened < MOST_FOLDERS and shown < MOST_ENTRIES:
        path, nodes = folders.popleft()
        opened += 1
        for entry in _entries(workspace, path)[: MOST_ENTRIES - shown]:
            node = Node(entry=entry, path=f"{path}/{as_text(entry.name)}".removeprefix("/"))
            nodes.append(node)
            shown += 1
            if entry.kind == "folder":
                folders.append((node.path, node.children))
    return top, bool(folders) or shown == MOST_ENTRIES


def _entries(workspace: Workspace, path: str) -> list[Entry]:
    """Folders first, then by name; none of a folder that cannot be opened."""
    try:
        entries = workspace.entries(path or ".")
    except ToolError:
        return []
    visible = [entry for entry in entries if not entry.name.startswith(".")]
    return sorted(visible, key=lambda entry: (entry.kind != "folder", entry.name.lower()))
