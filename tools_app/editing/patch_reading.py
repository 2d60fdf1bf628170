"""The parser of unified diffs. It tolerates wrong line counts, but not ambiguous changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tools_app.errors import ToolError

_HUNK_HEADER = re.compile(r"@@ -(\d+)")
_NO_FILE = "/dev/null"


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One position of a patch, where the lines `old` become the lines `new`.

    `start` is the line number that it names, counted from 1, or 0. `kept` are the indices, in both, of lines that stay,
    so that a file keeps their white space. `anchors` are texts of lines above it, in order. A
    hunk with `at_end` only adds lines, at the end of the file. `old_ends` and `new_ends` are False if the last line of
    that side has no line end ("\\ No newline at end of file").
    """

    start: int
    old: Sequence[str]
    new: Sequence[str]
    kept: Sequence[tuple[int, int]] = ()
    old_ends: bool = True
    new_ends: bool = True
    anchors: Sequence[str] = ()
    at_end: bool = False


@dataclass(frozen=True, kw_only=True)
class FilePatch:
    """The changes of one file. `old` is None for a new file, `new` for a deleted one."""

    old: str | None
    new: str | None
    hunks: Sequence[Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.new or self.old or ""


def parse_patch(text: str) -> list[FilePatch]:
    """Parse a unified diff.

    Raises: ToolError, with a sentence for the model.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    starts = [n for n in range(len(lines) - 1) if lines[n].startswith("--- ") and lines[n + 1].startswith("+++ ")]
    if not starts:
        raise ToolError("This is no patch: each file begins with a line `--- a/path` and a line `+++ b/path`.")
    ends = [*starts[1:], len(lines)]
    return [_file(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _file(lines: Sequence[str]) -> FilePatch:
    old, new = _path(lines[0]), _path(lines[1])
    if old is None and new is None:
        raise ToolError("A file of the patch has no name: both its sides are /dev/null.")
    bodies: list[tuple[str, list[str]]] = []
    for line in lines[2:]:
        if line.startswith("@@"):
            bodies.append((line, []))
        elif bodies and not _is_between_files(line):
            bodies[-1][1].append(line)
    patch = FilePatch(old=old, new=new, hunks=[hunk_of(header, body, new or old or "") for header, body in bodies])
    if not patch.hunks and old == new:
        raise ToolError(f"The patch of {patch.name} holds no change: a change begins with a line `@@ -1,3 +1,4 @@`.")
    return patch


def _path(line: str) -> str | None:
    path = line[4:].split("\t", maxsplit=1)[0].strip().strip('"')
    if path == _NO_FILE:
        return None
    return path[2:] if path.startswith(("a/", "b/")) else path


def _is_between_files(line: str) -> bool:
    """Return whether git writes this line before the next file."""
    return line.startswith(("diff --git ", "index ", "new file mode ", "deleted file mode ", "similarity index "))


def hunk_of(header: str, body: Sequence[str], name: str) -> Hunk:
    match = _HUNK_HEADER.match(header)
    old: list[str] = []
    new: list[str] = []
    kept: list[tuple[int, int]] = []
    ends = {"old": True, "new": True}
    previous_sign = ""
    for line in body:
        sign, text = (line[0], line[1:]) if line else (" ", "")
        if sign == "\\":
            ends |= {side: False for side, signs in (("old", " -"), ("new", " +")) if previous_sign in signs}
        elif sign not in " +-":
            raise ToolError(f"A line of the patch of {name} begins with neither space, + nor -: {line[:100]!r}")
        if sign == " ":
            kept.append((len(old), len(new)))
        if sign in " -":
            old.append(text)
        if sign in " +":
            new.append(text)
        previous_sign = sign
    start = int(match[1]) if match else 0
    return Hunk(start=start, old=old, new=new, kept=kept, old_ends=ends["old"], new_ends=ends["new"])
