"""All files of a workspace in the order of their paths, from any of them on."""

from collections.abc import Iterator, Sequence

from tools_app.errors import ToolError
from tools_app.files.listing import Entry
from tools_app.files.workspace import Workspace

Place = tuple[str, ...]


def files_after(workspace: Workspace, after: Place, folder: Place = ()) -> Iterator[tuple[str, int]]:
    """Path and size in bytes of each regular file behind `after`; links are left out, as nobody may follow them."""
    for entry in _entries(workspace, folder):
        place = (*folder, entry.name)
        if place < after[: len(place)]:
            continue
        if entry.kind == "folder":
            yield from files_after(workspace, after, place)
        elif entry.kind == "file" and place > after:
            yield "/".join(place), entry.size


def _entries(workspace: Workspace, folder: Place) -> Sequence[Entry]:
    """Without names that are no text, which no address can carry."""
    try:
        entries = workspace.entries("/".join(folder))
    except ToolError:  # it was deleted meanwhile, or lies too deep
        return []
    return [entry for entry in entries if _is_text(entry.name)]


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
