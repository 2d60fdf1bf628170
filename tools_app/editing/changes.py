"""The changes that the tool `file` makes. Each returns a report and a diff.

A file keeps its encoding, byte order mark and line ends. New content is UTF-8.
"""

from tools_app.contract import ToolResult
from tools_app.editing import diff
from tools_app.editing.replacement import has_crlf, replace, with_crlf
from tools_app.errors import ToolError
from tools_app.files import MAX_WHOLE, Workspace
from tools_app.files.encoding import UTF_8, Encoding, detect_encoding, read_sample


def write(path: str, content: str, workspace: Workspace) -> ToolResult:
    after, exists = content.encode(), workspace.is_file(path)
    before = content_before(path, workspace) if exists else b""
    workspace.write_bytes(path, after)
    return ToolResult(
        content=f"{'Replaced' if exists else 'Created'} {path}: {_size_text(content, len(after))}.",
        metadata=_diff_metadata(difference(path, before, after)),
    )


def append(path: str, content: str, workspace: Workspace, encoding: Encoding | None = None) -> ToolResult:
    """Append text, in `encoding` or that of the file."""
    uses_crlf = False
    if workspace.is_file(path):
        with workspace.open_for_read(path) as stream:
            sample = read_sample(stream)
        encoding = encoding or detect_encoding(sample) or UTF_8
        uses_crlf = has_crlf(encoding.readable(sample))
    encoding = encoding or UTF_8
    data = encoding.encode(with_crlf(content) if uses_crlf else content)
    workspace.append(path, data)
    after = content_before(path, workspace)
    total = "" if after is None else f" It has {_size_text(encoding.readable(after), len(after))} now."
    return ToolResult(content=f"Appended {_size_text(content, len(data))} to {path}.{total}")


def edit(
    path: str, old: str, new: str, workspace: Workspace, *, everywhere: bool, encoding: Encoding | None = None
) -> ToolResult:
    before = workspace.read_bytes(path)
    change = replace(before, old, new, everywhere=everywhere, limit=MAX_WHOLE, encoding=encoding)
    workspace.write_bytes(path, change.data)
    positions = f"{change.count} places, the first in line" if change.count > 1 else "1 place, line"
    note = f"; {change.note}" if change.note else ""
    size = _size_text(change.text, len(change.data))
    return ToolResult(
        content=f"Edited {path} ({positions} {change.line}{note}). It has {size} now.",
        metadata=_diff_metadata(difference(path, before, change.data)),
    )


def move(path: str, to: str, workspace: Workspace) -> ToolResult:
    workspace.move(path, to)
    return ToolResult(content=f"Moved {path} to {to}.")


def delete(path: str, workspace: Workspace) -> ToolResult:
    workspace.delete(path)
    return ToolResult(content=f"Deleted {path}.")


def content_before(path: str, workspace: Workspace) -> bytes | None:
    """Return the content of a file before a change, or None if it is too large."""
    with workspace.open_for_read(path) as stream:
        return None if len(data := stream.read(MAX_WHOLE + 1)) > MAX_WHOLE else data


def difference(path: str, before: bytes | None, after: bytes) -> str:
    """Return a unified diff, or "" if either version is not text."""
    old, new = detect_encoding(before or b""), detect_encoding(after)
    if before is None or not old or not new:
        return ""
    return diff.unified(old.readable(before), new.readable(after), path)


def overwrite_diff(path: str, content: str, workspace: Workspace) -> str:
    """Return the complete diff of overwriting a file, or "" if there is no file or the diff is too long."""
    try:
        before = content_before(path, workspace)
    except (ToolError, OSError):
        return ""
    changes = difference(path, before, content.encode())
    return "\n".join(changes.split("\n")[2:]) if diff.is_complete(changes) else ""


def _size_text(text: str, size: int) -> str:
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return f"{lines} line{'' if lines == 1 else 's'}, {size} bytes"


def _diff_metadata(diff: str) -> dict[str, str]:
    return {"diff": diff} if diff else {}
