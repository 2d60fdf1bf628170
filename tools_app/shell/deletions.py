"""Deletions that the history of the workspace can undo, and that therefore need no approval.

Only paths written literally in the command count. If a folder may have changed before the deletion, or a path is only
known at run time, the deletion stays as dangerous as before.
"""

import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from hashlib import sha256

from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.sandbox.base import WORKSPACE
from tools_app.shell.rules import DELETIONS
from tools_app.shell.script import SUBSTITUTION_MARK, SimpleCommand

UNRESTORABLE = "deletes what the file history does not keep"
_TRANSPARENT = {"sudo", "doas", "env", "nohup", "time", "timeout", "nice", "ionice", "command", "exec", "builtin"}
_REMOVERS = {"rm", "unlink"}
# After one of these, a name may refer to another file.
_RELOCATING = {"cd", "pushd", "popd", "ln", "mount", "chroot", "mv", "rsync"}
_RELOCATING_OPTIONS = ("-C", "-D", "-R", "--ch")  # options of wrappers with the same effect
_UNSAFE_FIND_OPTIONS = {"-L", "-H", "-follow", "-exec", "-execdir", "-ok", "-okdir", "-files0-from"}  # options of find
_GLOB = re.compile(r"[*?\[]")
_RUNTIME_SYNTAX = re.compile(r"[$`{]|^~|\[secret:|" + re.escape(SUBSTITUTION_MARK))
_MAX_SHOWN_COMMAND = 150  # characters of a command in the reason
_MAX_NAMED_PATHS = 3  # paths in the reason


class Deletions:
    """The deletions of one script, checked against the history of the workspace."""

    def __init__(self, workspace: Workspace, commands: Iterable[SimpleCommand], *, nested: bool) -> None:
        names = {posixpath.basename(word) for command in commands for word in command.words}
        self._workspace = workspace
        self._is_unknown = nested or bool(names & _RELOCATING)

    def filter_rules(self, rules: Sequence[str], command: SimpleCommand, outer: SimpleCommand) -> list[str]:
        """Return `rules` without deletions that can be undone. The remaining deletions name their files.

        `command` is the command that runs, `outer` the command as written, including wrappers. An approval of one
        deletion therefore never covers another.
        """
        name = command.words[0] if command.words else ""
        if name not in _REMOVERS and not any(rule in DELETIONS for rule in rules):
            return list(rules)
        lost = self._unrestorable(command, outer)
        other_rules = [rule for rule in rules if rule not in DELETIONS]
        if lost == []:
            return other_rules
        if lost is None and name in _REMOVERS:
            lost = self._possibly_unrestorable(_operands(command))
        details = f"{_display(outer)}{_unrestorable_note(lost)}"
        deletions = [rule for rule in rules if rule in DELETIONS] or ([UNRESTORABLE] if lost else [])
        return [*other_rules, *(f"{rule}: {details}" for rule in deletions)]

    def _unrestorable(self, command: SimpleCommand, outer: SimpleCommand) -> list[str] | None:
        """Return the paths that could not be restored; None if they cannot be determined."""
        wrapper = outer.words[: len(outer.words) - len(command.words)]
        runs_here = not wrapper or posixpath.basename(wrapper[0]) in _TRANSPARENT
        if self._is_unknown or not runs_here or any(word.startswith(_RELOCATING_OPTIONS) for word in wrapper):
            return None
        try:
            paths = [self._resolve(operand) for operand in _operands(command)]
            known_paths = [path for path in paths if path]
            return (
                self._workspace.unrestorable(*known_paths) if known_paths and len(known_paths) == len(paths) else None
            )
        except (ToolError, OSError):  # an invalid path, or an unreadable one
            return None

    def _possibly_unrestorable(self, operands: Sequence[str]) -> list[str]:
        """Return files that could not be restored and that the operands, in an unknown folder, may refer to."""
        if self._workspace.history is None:
            return []
        names = {posixpath.basename(operand) for operand in operands}
        has_pattern = any(_GLOB.search(operand) or _RUNTIME_SYNTAX.search(operand) for operand in operands)
        try:
            unheld = self._workspace.unrestorable(".")
        except (ToolError, OSError):
            return []
        files = (path for path in unheld if not path.endswith("/"))
        return [path for path in files if has_pattern or posixpath.basename(path) in names]

    def _resolve(self, operand: str) -> str | None:
        """Return the file or folder that an operand names, or the folder that a pattern searches; None if unknown."""
        pattern = _GLOB.search(operand)
        if _RUNTIME_SYNTAX.search(operand) or (pattern and (".." in operand or "/" in operand[pattern.start() :])):
            return None  # a match may be a link, so the rest of the path would be in another folder
        path = operand[: pattern.start()].rpartition("/")[0] if pattern else operand
        if pattern and not path:
            path = "/" if operand.startswith("/") else "."
        absolute = posixpath.normpath(posixpath.join(WORKSPACE, path))
        if absolute != WORKSPACE and not absolute.startswith(f"{WORKSPACE}/"):
            return None
        relative = absolute.removeprefix(WORKSPACE).lstrip("/") or "."
        if (pattern or operand.endswith("/")) and not self._workspace.is_folder(relative) and relative != ".":
            return None  # it is reached through a link
        return relative if self._workspace.exists(relative) else None  # not there yet, so its content is unknown


def _operands(command: SimpleCommand) -> list[str]:
    """Return the operands that a command deletes; none if that depends on more than names."""
    name, *arguments = command.words
    if name in _REMOVERS:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return [word for word in arguments[:end] if not word.startswith("-")] + arguments[end + 1 :]
    if name == "find" and not _UNSAFE_FIND_OPTIONS & {*arguments}:
        first = next((n for n, word in enumerate(arguments) if word.startswith(("-", "(", "!"))), len(arguments))
        return arguments[:first] or ["."]
    return ["."] if name == "git" and arguments[:1] in (["clean"], ["reset"]) else []


def _display(command: SimpleCommand) -> str:
    """Return the command for display. A long one is cut and followed by a digest that identifies it."""
    text = shlex.join(command.words)
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(printable) <= _MAX_SHOWN_COMMAND:
        return printable
    return f"{printable[:_MAX_SHOWN_COMMAND]}… ({sha256(printable.encode()).hexdigest()[:12]})"


def _unrestorable_note(lost: Sequence[str] | None) -> str:
    if not lost:
        return ""
    more = f" and {len(lost) - _MAX_NAMED_PATHS} more" if len(lost) > _MAX_NAMED_PATHS else ""
    return f" (not in the file history: {', '.join(lost[:_MAX_NAMED_PATHS])}{more})"
