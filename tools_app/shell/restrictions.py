"""Restrictions on an agent: paths of the workspace and commands that calls must not use.

Calls are checked by their arguments, so that a refusal can give the reason. Programs find files by themselves, as `grep
-r` does; a mask hides restricted files from them, in sandboxes that apply it.
"""

import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from tools_app.contract import Arguments
from tools_app.contract.base import PATH_ARGUMENTS
from tools_app.errors import ToolError
from tools_app.files import Workspace, paths
from tools_app.files.paths import LIBRARY, VIEW
from tools_app.sandbox import Mask
from tools_app.shell.danger import python_command
from tools_app.shell.nesting import scripts_in, unwrapped_commands
from tools_app.shell.syntax import parse_script

_SCRIPT_ARGUMENTS = ("command", "input")
_RECURSIVE_ACTIONS = ("grep", "move", "delete")  # actions that reach everything below a folder
_MAX_SCRIPTS = 20
_MAX_FILES = 20_000  # files that are searched
_MAX_MASK_ENTRIES = 500_000  # files and folders; at this size the walk takes some seconds
_HEADER = re.compile(r"^(?:---|\+\+\+|\*\*\* |rename |diff )(.*)$", re.MULTILINE)
_RAW_WORD = re.compile(r"[^\s;&|<>()'\"`=,$]+")


@dataclass(frozen=True, kw_only=True)
class Restrictions:
    """An administrator's restrictions for one agent.

    `paths` are patterns as in .gitignore: one without a slash matches a name in any folder. `commands` are a program
    and optional further words, such as "git push".
    """

    paths: Sequence[str] = ()
    commands: Sequence[str] = ()

    def refusal_reason(self, arguments: Arguments, workspace: Workspace) -> str:
        """Return the reason, for the model, why a call is not allowed; '' if it is."""
        if not self.paths and not self.commands:
            return ""
        values = arguments.model_dump(mode="json", exclude_none=True)
        if values.get("python"):
            values["command"] = python_command(values["command"])
        scripts = [str(values[name]) for name in _SCRIPT_ARGUMENTS if name in values]
        command = next((c for script in scripts for c in self.commands if _runs(script, c.split())), "")
        if command:
            return f"The command `{command}` is blocked here by an administrator."
        if not self.paths:
            return ""
        candidates = [*_argument_paths(values), *_patched_paths(values)]
        candidates += [_real_path(path, workspace) for path in candidates]  # tools accept other spellings of a name
        candidates += [word for script in scripts for word in _script_words(script)]
        path = next((path for path in candidates if self._is_restricted(path, workspace)), "")
        if not path and values.get("action") in _RECURSIVE_ACTIONS:
            path = self._restricted_file_below(str(values.get("path") or "."), workspace)
        return f"{path} is restricted here by an administrator." if path else ""

    def mask(self, workspace: Workspace) -> Mask:
        """Return the restricted paths that the workspace contains now.

        Parent folders must not be renamed: a background command that keeps renaming them would direct the mask of the
        next command to a missing path. Hard links to restricted files are masked as well.

        Raises: ToolError if the workspace is too large to search.
        """
        if not self.paths:
            return Mask()
        hidden: tuple[str, ...] = ()
        for prefix, root in _roots(workspace):
            restricted, other_files = self._partition(root, prefix)
            hidden += tuple(prefix + path for path in (*restricted, *_same_files(root, restricted, other_files)))
        parents = {str(parent) for path in hidden for parent in PurePosixPath(path).parents} - {"."}
        read_only = [VIEW] * bool(workspace.views) + [LIBRARY] * (workspace.library is not None)
        fixed = [path for path in parents if path.split("/")[0] not in read_only]
        return Mask(hidden=hidden, fixed=tuple(fixed))

    def _partition(self, root: Path, prefix: str) -> tuple[list[str], dict[int, list[str]]]:
        """Return the restricted paths, without those below them, and the other files by inode."""
        restricted, other_files, folders, count = list[str](), dict[int, list[str]](), [""], 0
        while folders:
            folder = folders.pop()
            try:
                entries = _entries(root / folder)
            except OSError:  # its content is unknown
                restricted.append(folder)
                continue
            if (count := count + len(entries)) > _MAX_MASK_ENTRIES:
                raise ToolError("There are too many files to tell which are restricted here. Delete some first.")
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if self._matches((prefix + path).split("/"), self.paths):
                    restricted.append(path)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                else:
                    other_files.setdefault(entry.inode(), []).append(path)
        return restricted, other_files

    def _is_restricted(self, path: str, workspace: Workspace) -> bool:
        """Return whether a path is restricted, or has wildcards that match an existing restricted file."""
        try:
            names = paths.parts(path)
        except ToolError:
            return False
        if self._matches(names, self.paths):
            return True
        if not re.search(r"[*?\[]", path):
            return False
        return any(fnmatchcase(restricted, "/".join(names)) for restricted in self._restricted_files(workspace))

    @staticmethod
    def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
        beginnings = ["/".join(names[:end]) for end in range(1, len(names) + 1)]
        return any(
            fnmatchcase(candidate, pattern.strip("/"))
            for pattern in patterns
            for candidate in (beginnings if "/" in pattern.strip("/") else names)
        )

    def _restricted_file_below(self, folder: str, workspace: Workspace) -> str:
        """Return a restricted file in or below a folder, or ''."""
        try:
            prefix = "".join(f"{name}/" for name in paths.parts(_real_path(folder, workspace)))
        except ToolError:
            return ""
        return next((path for path in self._restricted_files(workspace) if path.startswith(prefix)), "")

    def _restricted_files(self, workspace: Workspace) -> Iterator[str]:
        for prefix, root in _roots(workspace):
            for path in _files(root):
                if self._matches((prefix + path).split("/"), self.paths):
                    yield prefix + path


def _real_path(path: str, workspace: Workspace) -> str:
    """Return the path of the file that is meant, or `path` itself if none or several match."""
    try:
        return workspace.real_path(path) or path
    except ToolError:
        return path


def _patched_paths(values: dict[str, Any]) -> Iterator[str]:
    """Yield the files named in the headers of a patch, which are relative to its folder, or absolute."""
    if values.get("action") != "patch":
        return
    for line in _HEADER.findall(str(values.get("content", ""))):
        for word in [line.partition(": ")[2].strip(), line.strip(), *_RAW_WORD.findall(line)]:
            for path in (word, word.partition("/")[2]):  # without the prefix a/ or b/
                yield path if path.startswith("/") else f"{values['path']}/{path}"


UNRESTRICTED = Restrictions()


def _roots(workspace: Workspace) -> Iterator[tuple[str, Path]]:
    """Yield the root and the read-only views and library, each with the prefix of its paths."""
    yield "", workspace.root
    for level, view in enumerate(workspace.views, 1):
        yield f"{VIEW}/" * level, view
    if library := workspace.library:
        yield f"{LIBRARY}/", library


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    """List a folder. A folder that is gone has no entries.

    Raises: OSError
    """
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _same_files(root: Path, restricted: Sequence[str], other_files: Mapping[int, list[str]]) -> Iterator[str]:
    for path in restricted:
        with suppress(OSError):
            status = (root / path).lstat()
            if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                yield from other_files.get(status.st_ino, ())


def _files(root: Path) -> Iterator[str]:
    count = 0
    for folder, _, names in os.walk(root):
        for name in names:
            count += 1
            if count > _MAX_FILES:
                return
            yield os.path.relpath(os.path.join(folder, name), root)


def _argument_paths(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _argument_paths(inner, key)
    elif isinstance(value, list):
        for item in value:
            yield from _argument_paths(item, name)
    elif name in PATH_ARGUMENTS and value:
        yield str(value)


def _script_words(script: str) -> Iterator[str]:
    """Yield the words as a shell parses them, then the raw words: redirection targets, or text in other languages."""
    for words in _commands(script):
        yield from words
    yield from _RAW_WORD.findall(script)


def _runs(script: str, command: Sequence[str]) -> bool:
    """Return whether a script runs the program of `command` together with all its further words."""
    program, *further = command or [""]
    return any(words[0] == program and set(further) <= set(words) for words in _commands(script) if words)


def _commands(script: str) -> Iterator[list[str]]:
    """Yield the words of every command that a script runs, directly or through other programs."""
    queue, seen = deque([script]), set[str]()
    while queue and len(seen) < _MAX_SCRIPTS:
        text = queue.popleft()
        if text in seen:
            continue
        seen.add(text)
        for command in parse_script(text).commands:
            for inner in unwrapped_commands(command):
                yield [*inner.words, *inner.writes]
                queue += scripts_in(inner)
