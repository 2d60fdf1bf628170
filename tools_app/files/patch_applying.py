"""The changes of a patch, made in a file's bytes: where its lines stand exactly so, and nowhere else."""

from collections.abc import Sequence

from tools_app.editing.patch_reading import Hunk
from tools_app.errors import ToolError

_SHOWN = 3  # lines of a hunk that is not found


def apply(data: bytes, hunks: Sequence[Hunk], name: str) -> bytes:
    """The file's new content; line endings stay those of the file. Raises ToolError if a hunk does not fit."""
    end = "\r" if 2 * data.count(b"\r\n") > data.count(b"\n") else ""
    lines = data.decode(errors="surrogateescape").split("\n")  # the last is empty if the file's last line ends
    bare = [line.removesuffix("\r") for line in lines]  # kept beside them: a patch may have thousands of places
    cursor = shift = 0
    for number, hunk in enumerate(hunks, 1):
        place = _place(bare, hunk, cursor, shift, f"Change {number} of {name}")
        lines[place : place + len(hunk.old)] = [line + end for line in hunk.new]
        bare[place : place + len(hunk.old)] = hunk.new
        cursor, shift = place + len(hunk.new), shift + len(hunk.new) - len(hunk.old)
        if hunk.old_ends != hunk.new_ends:
            _set_end(lines, ends=hunk.new_ends)
            _set_end(bare, ends=hunk.new_ends)
    return "\n".join(lines).encode(errors="surrogateescape")


def created(hunks: Sequence[Hunk]) -> bytes:
    """The content of a new file: all that is added."""
    lines = [line for hunk in hunks for line in hunk.new]
    ends = all(hunk.new_ends for hunk in hunks)
    return ("\n".join(lines) + ("\n" if lines and ends else "")).encode(errors="surrogateescape")


def _place(lines: Sequence[str], hunk: Hunk, cursor: int, shift: int, what: str) -> int:
    """The index of its first line: the one it names if it fits there, else the nearest that does."""
    named = hunk.start - 1 + shift
    if not hunk.old:
        return _insertion(lines, hunk, shift, what)
    old, most = list(hunk.old), len(lines) - len(hunk.old)
    if hunk.start and cursor <= named <= most and lines[named : named + len(old)] == old:
        return named
    fitting = [n for n in range(cursor, most + 1) if lines[n] == old[0] and lines[n : n + len(old)] == old]
    if not fitting:
        shown = "\n".join(line for line in old[:_SHOWN])
        raise ToolError(f"{what} does not fit: these lines do not stand there exactly so, in this order:\n{shown}")
    if len(fitting) > 1 and not hunk.start:
        raise ToolError(f"{what} fits in {len(fitting)} places. Give more lines around it, or its line number.")
    return min(fitting, key=lambda n: abs(n - named))


def _insertion(lines: Sequence[str], hunk: Hunk, shift: int, what: str) -> int:
    """A change without old lines stands behind the line it names."""
    if lines == [""]:
        return 0
    if not hunk.start:
        raise ToolError(f"{what} has no lines around it and no line number, so its place is unknown.")
    return min(hunk.start + shift, len(lines) - 1)


def _set_end(lines: list[str], *, ends: bool) -> None:
    if ends and lines[-1]:
        lines.append("")
    elif not ends and not lines[-1]:
        lines[-2:] = [lines[-2].removesuffix("\r")] if len(lines) > 1 else lines
