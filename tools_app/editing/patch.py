"""A patch over several files of the workspace: all of it, or nothing."""

from dataclasses import dataclass

from tools_app.contract.base import ToolResult
from tools_app.editing.changes import difference, kept
from tools_app.editing.patch_reading import FilePatch
from tools_app.errors import ToolError
from tools_app.files import text_patch
from tools_app.files.workspace import MAX_WHOLE, Workspace

_DIFF_LINES = 400  # of all files together, for the card


@dataclass(kw_only=True)
class _File:
    """A file before and after; None where there is none."""

    before: bytes | None
    after: bytes | None
    changes: int = 0


def patch(folder: str, text: str, workspace: Workspace) -> ToolResult:
    """Applies a unified diff whose paths are relative to `folder`. Raises ToolError, and then nothing has changed."""
    files: dict[str, _File] = {}
    for one in text_patch.read(text):
        _change(files, folder, one, workspace)
    _store(files, workspace)
    diffs = [difference(path, file.before or b"", file.after or b"") for path, file in files.items()]
    shown = "\n".join("\n".join(filter(None, diffs)).split("\n")[:_DIFF_LINES])
    return ToolResult(
        content=f"Patched {len(files)} file{'s' if len(files) > 1 else ''}:\n"
        + "\n".join(f"- {path}: {_words(file)}" for path, file in files.items()),
        metadata={"diff": shown} if shown else {},
        effects=[effect for path, file in files.items() for effect in kept(path, file.before)],
    )


def _change(files: dict[str, _File], folder: str, one: FilePatch, workspace: Workspace) -> None:
    """What one part of the patch makes of its file, in memory."""
    if one.old is None:
        file = _file(files, _in(folder, one.name), workspace)
        if file.after is not None:
            raise ToolError(f"{one.name} exists already, and the patch would create it. Nothing was changed.")
        file.after, file.changes = text_patch.created(one.hunks), 1
        return
    old = _file(files, _in(folder, one.old), workspace)
    if old.after is None:
        raise ToolError(f"There is no {one.old} in the workspace. Nothing was changed.")
    after = text_patch.apply(old.after, one.hunks, one.old)
    if one.new != one.old:
        old.after = None
    if one.new is not None:
        new = _file(files, _in(folder, one.new), workspace)
        if new is not old and new.after is not None:
            raise ToolError(f"{one.new} exists already. Nothing was changed.")
        new.after, new.changes = after, new.changes + len(one.hunks)


def _file(files: dict[str, _File], path: str, workspace: Workspace) -> _File:
    if path not in files:
        before = workspace.read_bytes(path) if workspace.is_file(path) else None
        files[path] = _File(before=before, after=before)
    return files[path]


def _store(files: dict[str, _File], workspace: Workspace) -> None:
    """Writes all; if one cannot be written, those before it are put back."""
    if any(len(file.after or b"") > MAX_WHOLE for file in files.values()):
        raise ToolError("A file would become too large. Nothing was changed; use the shell for it.")
    done: list[tuple[str, _File]] = []
    try:
        for path, file in files.items():
            _set(path, file.before, file.after, workspace)
            done.append((path, file))
    except ToolError as error:
        for path, file in reversed(done):
            _set(path, file.after, file.before, workspace)
        raise ToolError(f"{error} Nothing was changed.") from error


def _set(path: str, now: bytes | None, then: bytes | None, workspace: Workspace) -> None:
    if then is not None:
        workspace.write_bytes(path, then)
    elif now is not None:
        workspace.delete(path)


def _in(folder: str, path: str) -> str:
    return path if folder in ("", ".") else f"{folder.rstrip('/')}/{path}"


def _words(file: _File) -> str:
    if file.after is None:
        return "deleted"
    if file.before is None:
        return "created"
    return f"{file.changes} change{'' if file.changes == 1 else 's'}"
