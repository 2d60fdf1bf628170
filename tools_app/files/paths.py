"""Paths as models and people write them, split into names below the workspace's root."""

from tools_app.errors import OutsideWorkspace, ToolError

MOUNT = "workspace"  # mount point in the sandbox, so models write /workspace/notes.md
RESULTS = ".results"  # the server's folder in the root: full results, and files that came with them
VIEW = "parent"  # mount point of the delegating task's files, read-only
LIBRARY = "library"  # mount point of the files of the project's library, read-only
MAX_DEPTH = 64  # nested folders; each costs a descriptor during a walk
MAX_PATH = 4096  # bytes, Linux's PATH_MAX


def parts(path: str) -> tuple[str, ...]:
    """Return the names from the root down to `path`, empty for the root itself.

    Raises: OutsideWorkspace, ToolError
    """
    _require_text(path)
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith("/") and steps[:1] != [MOUNT]:
        raise _outside(path)
    names: list[str] = []
    for step in steps[path.startswith("/") :]:
        if step != "..":
            names.append(step)
        elif names:
            names.pop()
        else:
            raise _outside(path)
    if len(names) > MAX_DEPTH:
        raise ToolError(f"The path is deeper than {MAX_DEPTH} folders. Use the shell for it.")
    return tuple(names)


def _require_text(path: str) -> None:
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The path is not valid Unicode text.") from error
    if b"\0" in encoded:
        raise ToolError("A path cannot contain a NUL character.")
    if len(encoded) > MAX_PATH:
        raise ToolError(f"The path is longer than {MAX_PATH} bytes.")


def _outside(path: str) -> OutsideWorkspace:
    return OutsideWorkspace(f"{path} leads out of the workspace. Use a path inside it, such as notes/plan.md.")
