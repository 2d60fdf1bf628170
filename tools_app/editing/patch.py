"""Patches of several files of the workspace, applied completely, or without the files that do not fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tools_app.contract import ToolResult
from tools_app.editing.changes import difference
from tools_app.editing.differences import differences_in_words, nearest_start, quoted
from tools_app.editing.patch_envelope import BEGIN, parse_envelope
from tools_app.editing.patch_reading import FilePatch, Hunk, parse_patch
from tools_app.editing.replacement import has_crlf
from tools_app.errors import ToolError
from tools_app.files import MAX_WHOLE, Workspace
from tools_app.files.encoding import UTF_8, detect_encoding

_MAX_DIFF_LINES = 400  # of all files together, shown in the call's card
_MAX_EXPLAINED = 5  # files that do not fit


@dataclass(kw_only=True)
class _PatchedFile:
    """A file before and after the patch. None means that there is no file."""

    before: bytes | None
    after: bytes | None
    changes: int = 0


@dataclass(kw_only=True)
class _LinkedParts:
    """Parts of a patch that share files: they fit together or not at all. `fault` is the reason if they do not."""

    paths: set[str]
    parts: list[FilePatch]
    files: dict[str, _PatchedFile] = field(default_factory=dict)
    fault: str = ""


def patch(folder: str, text: str, workspace: Workspace, *, partial: bool = False) -> ToolResult:
    """Apply a unified diff or an envelope (`patch_envelope`) with paths relative to `folder`.

    A `partial` patch changes the files that fit and reports the others.

    Raises: ToolError, and then nothing has changed.
    """
    lines = text.strip().replace("\r\n", "\n").split("\n")
    file_patches = parse_envelope(lines) if lines[0].rstrip() == BEGIN else parse_patch(text)
    groups = _groups(file_patches)
    for group in groups:
        try:
            for file_patch in group.parts:
                _change(group.files, folder, file_patch, workspace)
            if partial:
                _store(group.files, workspace)
        except ToolError as error:
            group.fault = str(error)
    files = {path: file for group in groups if not group.fault for path, file in group.files.items()}
    faults = [group for group in groups if group.fault]
    if faults and not (partial and files):
        raise ToolError(_refusal(faults, len(groups) - len(faults)))
    if not partial:
        try:
            _store(files, workspace)
        except ToolError as error:
            raise ToolError(f"{error} Nothing was changed.") from error
    diffs = [difference(path, file.before or b"", file.after or b"") for path, file in files.items()]
    diff = "\n".join("\n".join(filter(None, diffs)).split("\n")[:_MAX_DIFF_LINES])
    report = [f"Patched {_files_text(len(files))}:", *(f"- {path}: {_outcome(file)}" for path, file in files.items())]
    if faults:
        report += ["Not patched (send only these files again):", *_explanations(faults)]
    metadata = {"paths": list(files)} | ({"diff": diff} if diff else {})
    return ToolResult(content="\n".join(report), metadata=metadata)


def _groups(file_patches: Sequence[FilePatch]) -> list[_LinkedParts]:
    """Return the parts of a patch by the files that they share, in the order of the patch."""
    groups: dict[str, _LinkedParts] = {}
    for file_patch in file_patches:
        paths = {path for path in (file_patch.old, file_patch.new) if path is not None}
        parts = [file_patch]
        for other in {id(group): group for path in paths if (group := groups.get(path))}.values():
            paths |= other.paths
            parts = other.parts + parts
        group = _LinkedParts(paths=paths, parts=parts)
        groups |= dict.fromkeys(paths, group)
    return list({id(group): group for group in groups.values()}.values())


def _refusal(faults: Sequence[_LinkedParts], fitting: int) -> str:
    """Return the faults of a patch that changed nothing."""
    end = "Nothing was changed."
    if fitting:
        end = f"Nothing was changed; with partial=true the other {_files_text(fitting)} would be patched."
    return "\n".join([*(_explanations(faults) if len(faults) > 1 else [faults[0].fault]), end])


def _explanations(faults: Sequence[_LinkedParts]) -> list[str]:
    lines = [f"- {group.fault}" for group in faults[:_MAX_EXPLAINED]]
    if others := [part.name for group in faults[_MAX_EXPLAINED:] for part in group.parts]:
        lines.append(f"- nor do these fit: {', '.join(others)}")
    return lines


def _change(files: dict[str, _PatchedFile], folder: str, file_patch: FilePatch, workspace: Workspace) -> None:
    """Apply one part of the patch to its file, in memory."""
    old_path, new_path = file_patch.old, file_patch.new
    if old_path is None:
        file = _file(files, _joined(folder, file_patch.name), workspace)
        if file.after is not None:
            raise ToolError(f"{file_patch.name} exists already, and the patch would create it.")
        file.after, file.changes = new_content(file_patch.hunks), 1
        return
    old = _file(files, _joined(folder, old_path), workspace)
    if old.after is None:
        raise ToolError(f"There is no {old_path} in the workspace.")
    after = apply_hunks(old.after, file_patch.hunks, old_path)
    if new_path != old_path:
        old.after = None
    if new_path is not None:
        new = _file(files, _joined(folder, new_path), workspace)
        if new is not old and new.after is not None:
            raise ToolError(f"{new_path} exists already.")
        new.after, new.changes = after, new.changes + len(file_patch.hunks)


def _file(files: dict[str, _PatchedFile], path: str, workspace: Workspace) -> _PatchedFile:
    if path not in files:
        before = workspace.read_bytes(path) if workspace.is_file(path) else None
        files[path] = _PatchedFile(before=before, after=before)
    return files[path]


def _store(files: dict[str, _PatchedFile], workspace: Workspace) -> None:
    """Write all files. If one cannot be written, restore those already written."""
    if any(len(file.after or b"") > MAX_WHOLE for file in files.values()):
        raise ToolError("A file would become too large: use the shell for it.")
    written: list[tuple[str, _PatchedFile]] = []
    try:
        for path, file in files.items():
            _set(path, file.before, file.after, workspace)
            written.append((path, file))
    except ToolError:
        for path, file in reversed(written):
            _set(path, file.after, file.before, workspace)
        raise


def _set(path: str, current: bytes | None, content: bytes | None, workspace: Workspace) -> None:
    if content is not None:
        workspace.write_bytes(path, content)
    elif current is not None:
        workspace.delete(path)


def _joined(folder: str, path: str) -> str:
    return path if folder in ("", ".") else f"{folder.rstrip('/')}/{path}"


def _files_text(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _outcome(file: _PatchedFile) -> str:
    if file.after is None:
        return "deleted"
    if file.before is None:
        return "created"
    return f"{file.changes} change{'' if file.changes == 1 else 's'}"


def apply_hunks(data: bytes, hunks: Sequence[Hunk], name: str) -> bytes:
    """Return the new content, in the encoding and with the line ends of the file.

    Raises: ToolError if a hunk does not fit.
    """
    encoding = detect_encoding(data) or UTF_8
    text = encoding.decode(data)
    end = "\r" if has_crlf(text) else ""
    lines = text.split("\n")  # the last is empty if the file's last line has an end
    bare = [
        line.removesuffix("\r") for line in lines
    ]  # a second list, kept in step: a patch can have thousands of hunks
    cursor = shift = 0
    for number, hunk in enumerate(hunks, 1):
        index = _index_of(bare, hunk, cursor, shift, f"Change {number} of {name}")
        new = list(hunk.new)
        for old_number, new_number in hunk.kept:
            new[new_number] = bare[index + old_number]
        lines[index : index + len(hunk.old)] = [line + end for line in new]
        bare[index : index + len(hunk.old)] = new
        cursor, shift = index + len(hunk.new), shift + len(hunk.new) - len(hunk.old)
        if hunk.old_ends != hunk.new_ends:
            _set_end(lines, ends=hunk.new_ends)
            _set_end(bare, ends=hunk.new_ends)
    return encoding.bom + encoding.encode("\n".join(lines))


def new_content(hunks: Sequence[Hunk]) -> bytes:
    """Return the content of a new file: all added lines."""
    lines = [line for hunk in hunks for line in hunk.new]
    ends = all(hunk.new_ends for hunk in hunks)
    return ("\n".join(lines) + ("\n" if lines and ends else "")).encode(errors="surrogateescape")


def _index_of(lines: Sequence[str], hunk: Hunk, cursor: int, shift: int, label: str) -> int:
    """Return the index of the hunk's first line: the line that it names, or else the nearest one that fits."""
    named = hunk.start - 1 + shift
    cursor = _after_anchors(lines, hunk, cursor, label)
    if not hunk.old:
        return cursor + 1 if hunk.anchors else _insertion(lines, hunk, shift, label)
    old, last_index = list(hunk.old), len(lines) - len(hunk.old)
    if hunk.start and cursor <= named <= last_index and lines[named : named + len(old)] == old:
        return named
    matches = [n for n in range(cursor, last_index + 1) if lines[n] == old[0] and lines[n : n + len(old)] == old]
    matches = matches or _matches_up_to_line_ends(lines, old, cursor)
    if not matches:
        raise ToolError(f"{label} does not fit: {_misfit(lines, hunk, cursor, named)}.")
    if hunk.anchors:
        return matches[0]
    if len(matches) > 1 and not hunk.start:
        raise ToolError(f"{label} fits in {len(matches)} places. Give more lines around it, or its line number.")
    return min(matches, key=lambda n: abs(n - named))


def _matches_up_to_line_ends(lines: Sequence[str], old: Sequence[str], cursor: int) -> list[int]:
    """Return the indices where only white space at line ends differs."""
    bare, wanted = [line.rstrip() for line in lines], [line.rstrip() for line in old]
    if not any(wanted):
        return []
    starts = range(cursor, len(bare) - len(wanted) + 1)
    return [n for n in starts if bare[n] == wanted[0] and bare[n : n + len(wanted)] == wanted]


def _misfit(lines: Sequence[str], hunk: Hunk, cursor: int, named: int) -> str:
    """Return the first line that differs where most lines of a hunk fit."""
    start = nearest_start(lines[cursor:], hunk.old, max(0, named - cursor) if hunk.start else None)
    if start is None:
        if nearest_start(lines[:cursor], hunk.old) is not None:
            return "its lines are not behind the changes before it: sort the changes by their place"
        if not hunk.start or named >= len(lines):
            return f"no line of the file is like {quoted(next(filter(str.strip, hunk.old), ''))}"
        start = max(0, named - cursor)
    start += cursor
    return differences_in_words(lines, start, hunk.old, "the patch")


def _after_anchors(lines: Sequence[str], hunk: Hunk, cursor: int, label: str) -> int:
    """Return the index of the last anchor, searched from `cursor` on, or `cursor` if there are no anchors."""
    for number, anchor in enumerate(hunk.anchors):
        start = cursor + bool(number)
        index = next((n for n in range(start, len(lines)) if lines[n].strip() == anchor.strip()), None)
        if index is None:
            raise ToolError(f"{label} does not fit: behind the changes before it there is no line {anchor[:200]!r}.")
        cursor = index
    return cursor


def _insertion(lines: Sequence[str], hunk: Hunk, shift: int, label: str) -> int:
    """Return the index after the line that the hunk names. It has no old lines to look for."""
    if lines == [""]:
        return 0
    if hunk.at_end:
        return len(lines) - (lines[-1] == "")
    if not hunk.start:
        raise ToolError(f"{label} has no lines around it and no line number, so its place is unknown.")
    return min(hunk.start + shift, len(lines) - 1)


def _set_end(lines: list[str], *, ends: bool) -> None:
    if ends and lines[-1]:
        lines.append("")
    elif not ends and not lines[-1]:
        lines[-2:] = [lines[-2].removesuffix("\r")] if len(lines) > 1 else lines
