"""Files that a command loses for good: those that the history of the workspace cannot restore.

A path may lead to another file than its text says: through a link, or because an earlier command has moved files there.
Such a path counts as any path of the workspace.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from tools_app.errors import ToolError
from tools_app.files import GENERATED, Workspace
from tools_app.files import names as file_names
from tools_app.sandbox.base import TEMPORARY, WORKSPACE
from tools_app.shell.losses import MOVES_AWAY, OVERWRITES, Loss, can_be_in_git
from tools_app.shell.options import has_option, operands, option_values
from tools_app.shell.script import SimpleCommand
from tools_app.shell.shell_state import HOME, UNKNOWN, ShellState

_GLOB = re.compile(r"[*?\[]")
_FOLDERS_OF_GIT = (".git/", "/.git/")
_MAX_RELOCATIONS = 50
_MAX_OPERANDS = 1000  # of one command; more count as any path


class Holdings:
    """The files of one workspace that its history does not hold, looked up once for all commands of a script."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._is_isolated = workspace.is_isolated
        self._movers: dict[str, list[str]] | None = {}  # by path: the command that moves a file there; None: any path

    def note_relocation(self, command: SimpleCommand, state: ShellState) -> None:
        """Note that a command puts existing files at other paths."""
        name, *arguments = command.words or [""]
        named = operands(arguments)
        is_link = name == "cp" and (
            has_option(arguments, "l", "--link") or has_option(arguments, "s", "--symbolic-link")
        )
        if not named or not (is_link or name in ("mv", "ln", "rename")) or self._movers is None:
            return
        folder = next(option_values(arguments, "-t", "--target-directory"), "")
        target = folder or (named[-1] if len(named) > 1 else ".")
        sources = named if folder else named[:-1] or named
        targets = {target, *(f"{target}/{posixpath.basename(source.rstrip('/'))}" for source in sources)}
        known = [self._paths(word, state) for word in targets]
        paths = {path for word_paths in known for path in word_paths}
        if name == "rename" or not paths or len(self._movers) + len(paths) > _MAX_RELOCATIONS:
            self._movers = None
            return
        if len(targets) > 1 and all(known) and all(map(self.is_folder, self._paths(target, state))):
            paths -= {*self._paths(target, state)}
        self._movers |= dict.fromkeys(paths, command.words)

    @staticmethod
    def _paths(word: str, state: ShellState) -> list[str]:
        """Return the possible paths of a word, or the folders that a pattern searches; none if they are unknown."""
        values = state.expand(word)
        if values is None or state.folders is None:
            return []
        plain = [v[: match.start()].rpartition("/")[0] if (match := _GLOB.search(v)) else v for v in values]
        return [posixpath.normpath(posixpath.join(folder, value)) for folder in state.folders for value in plain]

    def is_folder(self, path: str) -> bool:
        """Return whether a path within the sandbox is certainly a folder."""
        relative = _relative(path)
        if relative is None:
            return path in (TEMPORARY, HOME)
        return relative == "." or (self._linked_part(relative) is None and self._workspace.is_folder(relative))

    def is_path(self, word: str, state: ShellState) -> bool:
        """Return whether a word names an existing file or folder."""
        relatives = map(_relative, self._paths(word, state))
        return any(relative is not None and self._workspace.exists(relative) for relative in relatives)

    def repository_losses(self, state: ShellState) -> list[str] | None:
        """Return the files outside of the history in a workspace whose repository a command changes."""
        folders = state.folders
        if folders is not None and self._is_isolated and all(_is_temporary(folder) for folder in folders):
            return []
        return list(self._unheld)

    def losses(self, loss: Loss, state: ShellState, command: SimpleCommand) -> list[str] | None:
        """Return the files that a command would lose for good; None if that cannot be determined."""
        if loss.rule == MOVES_AWAY and self._stays(loss.target, state):
            return []
        if len(loss.operands) > _MAX_OPERANDS:
            return self._anything(loss)
        names = [value for name in loss.names for value in state.expand(name) or ["*"]]
        loss = replace(loss, names=names)
        lost: dict[str, None] = {}
        for operand in loss.operands:
            losses = self._losses_of_operand(operand, loss, state, command)
            if losses is None:
                return None
            lost |= dict.fromkeys(losses)
        return list(lost)

    @cached_property
    def _unheld(self) -> list[str]:
        try:
            return self._workspace.unrestorable(".")
        except (ToolError, OSError):
            return ["."]

    def _stays(self, target: str, state: ShellState) -> bool:
        values, folders = state.expand(target), state.folders
        if values is None or folders is None:
            return False
        paths = (posixpath.normpath(posixpath.join(folder, value)) for folder in folders for value in values)
        return all(_relative(path) is not None for path in paths)

    def _losses_of_operand(
        self, operand: str, loss: Loss, state: ShellState, command: SimpleCommand
    ) -> list[str] | None:
        values = state.expand(operand)
        if values is None:
            return self._unknown(operand, loss, state)
        found: list[list[str] | None] = []
        for value in filter(None, values):
            if value.startswith("/") or state.folders is not None:
                paths = [posixpath.join(folder, value) for folder in state.folders or {WORKSPACE}]
                found += [self._losses_at(path, loss, command) for path in paths]
            else:
                found.append(self._anything(loss, posixpath.basename(value.rstrip("/"))))
        return None if None in found else [path for losses in found for path in losses or ()]

    def _unknown(self, operand: str, loss: Loss, state: ShellState) -> list[str] | None:
        """Return the losses of an operand that is only known at run time, apart from the folder it begins with."""
        match = UNKNOWN.search(operand)
        folder = operand[: match.start()].rpartition("/")[0] if match else ""
        if folder and not loss.is_tree and ".." not in operand and state.folders is not None:
            paths = [posixpath.normpath(posixpath.join(f, folder)) for f in state.folders]
            relatives = [relative for path in paths if (relative := _relative(path)) is not None]
            if self._is_isolated and not relatives and all(map(_is_temporary, paths)):
                return []
            if len(relatives) == len(paths) and self._movers == {} and not any(map(self._linked_part, relatives)):
                files = (entry for entry in self._entries(loss) if not entry.endswith("/"))
                return [entry for entry in files if any(_overlap(entry, path) for path in relatives)]
        is_any = loss.is_tree or (state.is_repeated and loss.rule not in (OVERWRITES, MOVES_AWAY) and not folder)
        return self._anything(loss, is_tree=is_any)

    def _anything(self, loss: Loss, name: str = "", *, is_tree: bool | None = None) -> list[str] | None:
        """Return what a command may lose that acts on any path, or for files on one with this name."""
        entries = self._entries(loss)
        if loss.is_tree if is_tree is None else is_tree:
            return entries if self._is_isolated else None
        return [
            entry
            for entry in entries
            if not entry.endswith("/") and (not name or fnmatchcase(posixpath.basename(entry), name))
        ]

    def _entries(self, loss: Loss) -> list[str]:
        """Return the files outside of the history whose names fit."""
        if not loss.names and not loss.skips_git:
            return self._unheld
        skips_folders = loss.skips_git or not can_be_in_git([name for name in loss.names if name not in GENERATED])
        return [
            entry
            for entry in self._unheld
            if (not skips_folders if entry.endswith("/") else _has_name(entry, loss.names))
        ]

    def _losses_at(self, path: str, loss: Loss, command: SimpleCommand) -> list[str] | None:
        pattern = _GLOB.search(path)
        beginning = path[: pattern.start()].rpartition("/")[0] or "/" if pattern else path
        last = path[len(beginning) :].lstrip("/") if pattern else ""
        absolute = posixpath.normpath(beginning).replace("//", "/")
        if self._is_relocated(absolute, command):
            return self._anything(loss)
        relative = _relative(absolute)
        if relative is None:
            return self._losses_elsewhere(absolute, loss)
        follows_link = bool(pattern) or path.endswith(("/", "/."))
        if "/" in last and loss.rule == OVERWRITES and ".." not in last:  # a shell writes to a pattern only as a name
            return [e for e in self._anything(loss) or () if fnmatchcase(e, f"{relative}/{last}".removeprefix("./"))]
        if "/" in last or ".." in last or self._linked_part(relative, with_last=follows_link):
            return self._anything(loss)
        if self._workspace.history is None:
            return [relative] if self._workspace.exists(relative) else []
        key = "" if relative == "." else file_names.to_stored(relative)
        entries = [e for e in self._entries(loss) if _overlap(e, key) and _matches(e, key, last)]
        if loss.is_tree:
            return entries
        return [e for e in entries if self._loses_file(e, key, last, relative, loss)]

    def _loses_file(self, entry: str, key: str, pattern: str, relative: str, loss: Loss) -> bool:
        """Return whether a command on single files loses `entry`, or a file in it."""
        if not entry.endswith("/"):
            return entry == key or (bool(pattern) and entry.rpartition("/")[0] == key)
        is_in_folder = f"{key}/".startswith(entry) and key != entry.rstrip("/")
        is_written_in_git = loss.rule == OVERWRITES and entry.endswith(_FOLDERS_OF_GIT)
        return is_in_folder and (bool(pattern) or is_written_in_git or self._workspace.exists(relative))

    def _losses_elsewhere(self, absolute: str, loss: Loss) -> list[str] | None:
        """Return the losses outside of the workspace. Another rule is about writing there."""
        if loss.is_tree and (absolute == "/" or f"{WORKSPACE}/".startswith(f"{absolute}/")):
            return self._anything(loss)
        if self._is_isolated or not _is_temporary(absolute):
            return []
        is_home = absolute == HOME or absolute.startswith(f"{HOME}/")
        if is_home and self._workspace.home is None:
            return [absolute]
        path = f"{self._workspace.home}{absolute[len(HOME) :]}" if is_home else absolute
        return [absolute] if Path(path).exists() or Path(path).is_symlink() else []

    def _is_relocated(self, path: str, command: SimpleCommand) -> bool:
        if self._movers is None:
            return True
        return any(
            path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")
            for other, words in self._movers.items()
            if words != command.words
        )

    def _linked_part(self, relative: str, *, with_last: bool = False) -> str | None:
        """Return the part of a path that leads elsewhere because it is a link, or None."""
        parts = relative.split("/")
        for end in range(1, len(parts) + with_last):
            part = "/".join(parts[:end])
            if part == "." or self._workspace.is_folder(part):
                continue
            is_link = self._workspace.exists(part) and not self._workspace.is_file(part)
            return part if is_link else None
        return None


def _relative(path: str) -> str | None:
    """Return the path from the root of the workspace, or None."""
    if path == WORKSPACE:
        return "."
    return path.removeprefix(f"{WORKSPACE}/") if path.startswith(f"{WORKSPACE}/") else None


def _is_temporary(path: str) -> bool:
    return path == TEMPORARY or path.startswith(f"{TEMPORARY}/")


def _overlap(entry: str, key: str) -> bool:
    """Return whether a file or folder outside of the history is at, in or around a path."""
    name = entry.rstrip("/")
    around = entry.endswith("/") and key.startswith(entry)
    return key in ("", ".", name) or name.startswith(f"{key}/") or around


def _matches(entry: str, key: str, pattern: str) -> bool:
    """Return whether a pattern in the folder `key` matches an entry, or the folder that leads to it."""
    if not pattern:
        return True
    prefix = f"{key}/" if key else ""
    if not entry.startswith(prefix):
        return True  # the folder itself is outside of the history
    name = entry[len(prefix) :].split("/", maxsplit=1)[0]
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _has_name(entry: str, patterns: Sequence[str]) -> bool:
    name = posixpath.basename(entry).lower()
    return not patterns or any(fnmatchcase(name, pattern.lower()) for pattern in patterns)
