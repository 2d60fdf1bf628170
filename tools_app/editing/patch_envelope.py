"""The parser of patches from `*** Begin Patch` to `*** End Patch`, the form that OpenAI's models are trained to write.

*** Update File: path     its changes, each after a line @@, optionally with the text of a line above it;
                          added lines without such a text are appended
*** Move to: path         directly after it, renames the file
*** Add File: path        its lines, each after a +
*** Delete File: path
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from tools_app.editing.patch_reading import FilePatch, Hunk, hunk_of
from tools_app.errors import ToolError

BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")
_MOVE = "*** Move to: "
_LAST = "*** End of File"


def parse_envelope(lines: Sequence[str]) -> list[FilePatch]:
    """Parse an envelope.

    Raises: ToolError, with a sentence for the model.
    """
    end = next((number for number, line in enumerate(lines) if line.strip() == _END), len(lines))
    body = lines[1:end]
    starts = [number for number, line in enumerate(body) if _FILE.fullmatch(line.strip())]
    if not starts or any(line.strip() for line in body[: starts[0]]):
        raise ToolError(
            f"After `{BEGIN}` comes `*** Update File: path`, `*** Add File: path` or `*** Delete File: path`."
        )
    ends = [*starts[1:], len(body)]
    return [_file(body[start:stop]) for start, stop in zip(starts, ends, strict=True)]


def _file(lines: Sequence[str]) -> FilePatch:
    header = _FILE.fullmatch(lines[0].strip())
    assert header is not None
    kind, path, body = header[1], header[2].strip(), list(lines[1:])
    if kind == "Delete":
        return FilePatch(old=path, new=None)
    if kind == "Add":
        if invalid := next((line for line in body if line and not line.startswith("+")), ""):
            raise ToolError(f"Each line of the new file {path} begins with +: {invalid[:100]!r}")
        hunk = Hunk(start=0, old=[], new=[line[1:] for line in body if line])
        return FilePatch(old=None, new=path, hunks=[hunk])
    is_moved = bool(body) and body[0].startswith(_MOVE)
    new_path = body.pop(0).strip().removeprefix(_MOVE).strip() if is_moved else path
    hunks = _hunks(path, body)
    if not hunks and new_path == path:
        raise ToolError(f"The patch of {path} holds no change: a change begins with a line `@@`.")
    return FilePatch(old=path, new=new_path, hunks=hunks)


def _hunks(path: str, body: Sequence[str]) -> list[Hunk]:
    """Return the changes of a file. The first needs no line @@. Several such lines in a row narrow down one position.

    Added lines without a position are appended, as in OpenAI's own program: compute_replacements in
    codex-rs/apply-patch of github.com/openai/codex.
    """
    anchors: list[str] = []
    hunks: list[Hunk] = []
    for header, lines in _parts(body):
        if anchor := header.strip("@ "):
            anchors.append(anchor)
        if any(line.strip() for line in lines):
            while not lines[-1]:  # empty lines between two parts of a patch are not context
                lines.pop()
            hunk = hunk_of("@@", lines, path)
            hunks.append(replace(hunk, anchors=tuple(anchors), at_end=not (hunk.old or anchors)))
            anchors = []
    return sorted(hunks, key=lambda hunk: hunk.at_end)


def _parts(body: Sequence[str]) -> list[tuple[str, list[str]]]:
    parts: list[tuple[str, list[str]]] = [("@@", [])]
    for line in body:
        if line.startswith("@@"):
            parts.append((line, []))
        elif line.strip() != _LAST:
            parts[-1][1].append(line)
    return parts
