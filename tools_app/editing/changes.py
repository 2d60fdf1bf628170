"""The changes that the tool `file` makes. Each returns a report and a diff.

A file keeps its encoding, byte order mark and line ends. New content is UTF-8.
"""

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from tools_app.contract import ToolResult
from tools_app.editing import diff
from tools_app.errors import ToolError
from tools_app.files import MAX_WHOLE, Workspace
from tools_app.files.encoding import UTF_8, detect_encoding, read_sample

_MAX_COMPARED_LINES = 5000  # lines compared to find a similar one
_MAX_COMPARED_LENGTH = 200  # characters compared of each
_MAX_LISTED = 5  # lines or positions in a message


def write(path: str, content: str, workspace: Workspace) -> ToolResult:
    after, exists = content.encode(), workspace.is_file(path)
    before = content_before(path, workspace) if exists else b""
    workspace.write_bytes(path, after)
    return ToolResult(
        content=f"{'Replaced' if exists else 'Created'} {path}: {_size_text(content, len(after))}.",
        metadata=_diff_metadata(difference(path, before, after)),
    )


def append(path: str, content: str, workspace: Workspace) -> ToolResult:
    encoding, uses_crlf = UTF_8, False
    if workspace.is_file(path):
        with workspace.open_for_read(path) as stream:
            sample = read_sample(stream)
        encoding = detect_encoding(sample) or UTF_8
        uses_crlf = has_crlf(encoding.readable(sample))
    data = encoding.encode(_with_crlf(content) if uses_crlf else content)
    workspace.append(path, data)
    return ToolResult(content=f"Appended {_size_text(content, len(data))} to {path}.")


def edit(path: str, old: str, new: str, workspace: Workspace, *, everywhere: bool) -> ToolResult:
    before = workspace.read_bytes(path)
    change = replace(before, old, new, everywhere=everywhere, limit=MAX_WHOLE)
    workspace.write_bytes(path, change.data)
    positions = f"{change.count} places, the first in line" if change.count > 1 else "1 place, line"
    return ToolResult(
        content=f"Edited {path} ({positions} {change.line}). It has {_size_text(change.text, len(change.data))} now.",
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


@dataclass(frozen=True, kw_only=True)
class Edit:
    """The file's new content, the number of the first overwrite_diff line (from 1) and the number of replacements."""

    data: bytes
    text: str
    line: int
    count: int


def replace(data: bytes, old: str, new: str, *, everywhere: bool, limit: int) -> Edit:
    """Replace `old`, which must occur exactly once unless `everywhere`. Encoding and line ends are unchanged.

    Raises: ToolError, with the nearest lines or the positions for the model; also if the result is over `limit` bytes.
    """
    encoding = detect_encoding(data) or UTF_8
    text = encoding.decode(data)
    before, after = _with_line_ends_of(text, old, new)
    first = text.find(before)
    if first < 0:
        raise ToolError(_not_found(text, old))
    if not everywhere and text.find(before, first + 1) >= 0:
        raise ToolError(_ambiguous(text, before))
    count = text.count(before) if everywhere else 1
    if len(data) + count * (len(encoding.encode(after)) - len(encoding.encode(before))) > limit:
        raise ToolError("The file would become too large. Use the shell for it.")
    text = text.replace(before, after, count)
    return Edit(data=encoding.bom + encoding.encode(text), text=text, line=text.count("\n", 0, first) + 1, count=count)


def has_crlf(text: str) -> bool:
    """Return whether most lines end with CR LF."""
    return 2 * text.count("\r\n") > text.count("\n")


def _with_line_ends_of(text: str, old: str, new: str) -> tuple[str, str]:
    """Return both texts with the line ends of the file. Models see and write lines without CR."""
    styles: list[Callable[[str], str]] = [_with_lf, _with_crlf]
    if has_crlf(text):
        styles.reverse()
    style = next((style for style in styles if style(old) in text), styles[0])
    return style(old), style(new)


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_crlf(text: str) -> str:
    return _with_lf(text).replace("\n", "\r\n")


def _ambiguous(text: str, old: str) -> str:
    numbers = [text.count("\n", 0, position) for position in islice(_positions(text, old), _MAX_LISTED)]
    return (
        f"old occurs {max(2, text.count(old))} times. Add lines around it until it is unique, or set replace_all. "
        "The first places are:\n" + _numbered(text.split("\n"), numbers)
    )


def _positions(text: str, old: str) -> Iterator[int]:
    position = text.find(old)
    while position >= 0:
        yield position
        position = text.find(old, position + 1)


def _not_found(text: str, old: str) -> str:
    lines = text.split("\n")
    wanted = [line for line in old.splitlines() if line.strip()] or [old]
    height = min(len(wanted), _MAX_LISTED)
    starts = _nearest(lines, wanted[0], 1 if height > 1 else 3)
    nearest = [number for start in starts for number in range(start, min(start + height, len(lines)))]
    hint = "The nearest lines are:\n" + _numbered(lines, nearest) if nearest else "No line is similar."
    return f"old occurs 0 times in these {len(lines)} lines; it must match exactly, with every space. {hint}"


def _numbered(lines: list[str], numbers: list[int]) -> str:
    text = "\n".join(f"{number + 1:6}\t{lines[number][:_MAX_COMPARED_LENGTH].rstrip()}" for number in numbers)
    return UTF_8.readable(UTF_8.encode(text))  # replaces invalid characters


def _nearest(lines: list[str], wanted: str, count: int) -> list[int]:
    """Return the indices of the lines that are most similar to `wanted`, ignoring outer whitespace."""
    first_indices: dict[str, int] = {}
    for index, line in enumerate(lines):
        first_indices.setdefault(line.strip()[:_MAX_COMPARED_LENGTH], index)
    key = wanted.strip()[:_MAX_COMPARED_LENGTH]
    if key in first_indices:
        return [first_indices[key]]
    matches = difflib.get_close_matches(key, list(first_indices)[:_MAX_COMPARED_LINES], count, cutoff=0.5)
    return [first_indices[line] for line in matches]
