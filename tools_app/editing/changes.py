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

_SEARCHED = 5000  # lines compared to find a similar one
_COMPARED = 200  # characters compared of each
_SHOWN = 5  # lines or positions in a message


def write(path: str, content: str, workspace: Workspace) -> ToolResult:
    after, exists = content.encode(), workspace.is_file(path)
    before = content_before(path, workspace) if exists else b""
    workspace.write_bytes(path, after)
    done = f"{'Replaced' if exists else 'Created'} {path}: {_measure(content, len(after))}."
    return ToolResult(
        content=done,
        metadata=_shown(difference(path, before, after)),
    )


def append(path: str, content: str, workspace: Workspace) -> ToolResult:
    encoding, is_windows = UTF_8, False
    if workspace.is_file(path):
        with workspace.open_for_read(path) as stream:
            sample = read_sample(stream)
        encoding = detect_encoding(sample) or UTF_8
        is_windows = has_crlf(encoding.readable(sample))
    data = encoding.encode(_with_crlf(content) if is_windows else content)
    workspace.append(path, data)
    return ToolResult(content=f"Appended {_measure(content, len(data))} to {path}.")


def edit(path: str, old: str, new: str, workspace: Workspace, *, everywhere: bool) -> ToolResult:
    before = workspace.read_bytes(path)
    change = replace(before, old, new, everywhere=everywhere, limit=MAX_WHOLE)
    workspace.write_bytes(path, change.data)
    places = f"{change.count} places, the first in line" if change.count > 1 else "1 place, line"
    return ToolResult(
        content=f"Edited {path} ({places} {change.line}). It has {_measure(change.text, len(change.data))} now.",
        metadata=_shown(difference(path, before, change.data)),
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


def replaced(path: str, content: str, workspace: Workspace) -> str:
    """Return the complete diff of overwriting a file, or "" if there is no file or the diff is too long."""
    try:
        before = content_before(path, workspace)
    except (ToolError, OSError):
        return ""
    shown = difference(path, before, content.encode())
    return "\n".join(shown.split("\n")[2:]) if diff.is_whole(shown) else ""


def _measure(text: str, size: int) -> str:
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return f"{lines} line{'' if lines == 1 else 's'}, {size} bytes"


def _shown(diff: str) -> dict[str, str]:
    return {"diff": diff} if diff else {}


@dataclass(frozen=True, kw_only=True)
class Edit:
    """The file's new content, the number of the first replaced line (from 1) and the number of replacements."""

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
    before, after = _in_style_of(text, old, new)
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


def _in_style_of(text: str, old: str, new: str) -> tuple[str, str]:
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
    numbers = [text.count("\n", 0, place) for place in islice(_places(text, old), _SHOWN)]
    return (
        f"old occurs {max(2, text.count(old))} times. Add lines around it until it is unique, or set replace_all. "
        "The first places are:\n" + _numbered(text.split("\n"), numbers)
    )


def _places(text: str, old: str) -> Iterator[int]:
    place = text.find(old)
    while place >= 0:
        yield place
        place = text.find(old, place + 1)


def _not_found(text: str, old: str) -> str:
    lines = text.split("\n")
    wanted = [line for line in old.splitlines() if line.strip()] or [old]
    height = min(len(wanted), _SHOWN)
    starts = _nearest(lines, wanted[0], 1 if height > 1 else 3)
    near = [number for start in starts for number in range(start, min(start + height, len(lines)))]
    hint = "The nearest lines are:\n" + _numbered(lines, near) if near else "No line is similar."
    return f"old occurs 0 times in these {len(lines)} lines; it must match exactly, with every space. {hint}"


def _numbered(lines: list[str], numbers: list[int]) -> str:
    shown = "\n".join(f"{number + 1:6}\t{lines[number][:_COMPARED].rstrip()}" for number in numbers)
    return UTF_8.readable(UTF_8.encode(shown))  # replaces invalid characters


def _nearest(lines: list[str], wanted: str, count: int) -> list[int]:
    """Return the indices of the lines that are most similar to `wanted`, ignoring outer whitespace."""
    first: dict[str, int] = {}
    for number, line in enumerate(lines):
        first.setdefault(line.strip()[:_COMPARED], number)
    key = wanted.strip()[:_COMPARED]
    if key in first:
        return [first[key]]
    return [first[line] for line in difflib.get_close_matches(key, list(first)[:_SEARCHED], count, cutoff=0.5)]
