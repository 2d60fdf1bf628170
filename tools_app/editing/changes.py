"""What the tool `file` does to files. Each change says what it did, shows the difference and keeps what was there."""

from tools_app.contract.base import ToolResult
from tools_app.contract.effects import KeepVersion
from tools_app.editing import diff
from tools_app.files import text_edit, text_page
from tools_app.files.workspace import MAX_WHOLE, Workspace


def write(path: str, content: str, workspace: Workspace) -> ToolResult:
    after, exists = content.encode(), workspace.is_file(path)
    before = former(path, workspace) if exists else b""
    workspace.write_bytes(path, after)
    done = f"{'Replaced' if exists else 'Created'} {path}: {measure(after)}."
    return ToolResult(
        content=done, metadata=_shown(difference(path, before, after)), effects=kept(path, before) if exists else []
    )


def append(path: str, content: str, workspace: Workspace) -> ToolResult:
    data = content.encode()
    workspace.append(path, data)
    return ToolResult(content=f"Appended {measure(data)} to {path}.")


def edit(path: str, old: str, new: str, workspace: Workspace, *, everywhere: bool) -> ToolResult:
    before = workspace.read_bytes(path)
    change = text_edit.replace(before, old, new, everywhere=everywhere, limit=MAX_WHOLE)
    workspace.write_bytes(path, change.data)
    places = f"{change.count} places, the first in line" if change.count > 1 else "1 place, line"
    return ToolResult(
        content=f"Edited {path} ({places} {change.line}). It has {measure(change.data)} now.",
        metadata=_shown(difference(path, before, change.data)),
        effects=kept(path, before),
    )


def move(path: str, to: str, workspace: Workspace) -> ToolResult:
    workspace.move(path, to)
    return ToolResult(content=f"Moved {path} to {to}.")


def delete(path: str, workspace: Workspace) -> ToolResult:
    before = former(path, workspace) if workspace.is_file(path) else None
    workspace.delete(path)
    return ToolResult(content=f"Deleted {path}.", effects=kept(path, before))


def former(path: str, workspace: Workspace) -> bytes | None:
    """What a file holds before it is changed; None if that is too large to be held."""
    with workspace.open_for_read(path) as stream:
        return None if len(data := stream.read(MAX_WHOLE + 1)) > MAX_WHOLE else data


def kept(path: str, before: bytes | None) -> list[KeepVersion]:
    return [] if before is None else [KeepVersion(path=path, data=before)]


def difference(path: str, before: bytes | None, after: bytes) -> str:
    """A unified diff; empty where one of the two is no text."""
    if before is None or text_page.holds_binary(before) or text_page.holds_binary(after):
        return ""
    return diff.unified(before, after, path)


def measure(data: bytes) -> str:
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return f"{lines} line{'' if lines == 1 else 's'}, {len(data)} bytes"


def _shown(diff: str) -> dict[str, str]:
    return {"diff": diff} if diff else {}
