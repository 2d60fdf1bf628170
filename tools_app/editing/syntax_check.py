"""The check whether a written file parses, by its name. `answer` runs in a child process: the file may be hostile."""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.files import Workspace

_MAX_BYTES = 1_000_000
_MAX_FILES = 10
_LIMITS = ChildLimits(wall_s=5, cpu_s=3)
_WITH_COMMENTS = ("tsconfig", "jsconfig", "settings", "launch", "tasks", "devcontainer")  # JSON with comments
_MAX_FAULT = 200  # characters


async def notes_on_syntax(paths: Sequence[str], workspace: Workspace) -> list[str]:
    """Return a note for each of these files that does not parse. Files of other kinds, and large ones, have none."""
    notes = []
    for path in [path for path in paths if _kind(path)][:_MAX_FILES]:
        if not workspace.is_file(path) or len(data := workspace.read_bytes(path)) > _MAX_BYTES:
            continue
        try:
            fault = await answer_of(__name__, {"kind": _kind(path)}, data, _LIMITS)
        except NoAnswer:
            continue
        if fault:
            notes.append(f"{path} does not parse: {fault}.")
    return notes


def _kind(path: str) -> str:
    name = PurePosixPath(path)
    kind = {".yml": ".yaml", ".pyi": ".py"}.get(name.suffix, name.suffix)
    if kind == ".json" and name.stem.split(".")[0] in _WITH_COMMENTS:
        return ""
    return kind if kind in _CHECKS else ""


# --- in the child ----------------------------------------------------------------------------------------------------


def answer(request: dict[str, Any], body: bytes) -> str:
    """Return the fault and its line, or ""."""
    return _CHECKS[request["kind"]](body)[:_MAX_FAULT]


def _python_fault(data: bytes) -> str:
    try:
        ast.parse(data)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except ValueError as error:  # a NUL
        return str(error)
    return ""


def _json_fault(data: bytes) -> str:
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeDecodeError:
        return "it is not UTF-8"
    return ""


def _toml_fault(data: bytes) -> str:
    import tomllib

    try:
        tomllib.loads(data.decode())
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:  # the message names line and column
        return str(error)
    return ""


def _yaml_fault(data: bytes) -> str:
    """Only parse it: tags of other programs have a meaning that we do not know."""
    import yaml

    try:
        for _ in yaml.parse(data, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}" if mark else str(error.problem)
    except yaml.YAMLError as error:
        return " ".join(str(error).split())
    return ""


_CHECKS: Mapping[str, Callable[[bytes], str]] = {
    ".py": _python_fault,
    ".json": _json_fault,
    ".toml": _toml_fault,
    ".yaml": _yaml_fault,
}
