"""Rules that make a simple command dangerous. Their texts are shown to the person who is asked for approval."""

import posixpath
import re
from collections.abc import Callable, Sequence

from tools_app.sandbox.base import TEMPORARY, WORKSPACE
from tools_app.shell.script import SimpleCommand

_HARMLESS_DEVICES = re.compile(r"/dev/(null|zero|full|tty|stdin|stdout|stderr|fd/\d+|shm/.+)")
_FOLDER_REMOVAL = re.compile(r"\brmtree\b|\brimraf\b|\brm_rf?\b|\brm\s+-\w*[rR]|recursive:\s*true|remove_tree")
_SQL_DROP = re.compile(r"\bdrop\s+(table|database|schema)\b|\btruncate\s+table\b|\bdropDatabase\b", re.IGNORECASE)

_SEARCHES = {"grep", "egrep", "fgrep", "rg", "ag", "ack"}
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|deno|bun|php|lua|R?script)[\d.]*")
_GIT_OPTIONS_WITH_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}
_POWER_COMMANDS = {"shutdown", "reboot", "halt", "poweroff", "telinit"}
_WRITES_LAST_ARGUMENT = {"cp", "mv", "install", "ln"}
_WRITES_EACH_ARGUMENT = {"tee", "touch", "mkdir", "rm", "rmdir", "unlink", "truncate", "chmod", "chown", "chgrp"}


def rules_of(command: SimpleCommand) -> list[str]:
    """Return the texts of all rules that apply. The first word of `command` is the program's bare name."""
    return [rule for rule, check in _CHECKS_BY_RULE.items() if check(command)]


def _deletes_a_folder(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if _INTERPRETER.fullmatch(name):
        return any(_FOLDER_REMOVAL.search(code) for code in (*arguments, command.text))
    return name == "rm" and (_has_option(arguments, "r", "--recursive") or _has_option(arguments, "R"))


def _deletes_many_files(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name == "find":
        runs = any(word in ("-exec", "-execdir", "-ok", "-okdir") for word in arguments)
        return "-delete" in arguments or (runs and _mentions_program(arguments, "rm", "unlink", "shred"))
    if name in ("xargs", "parallel"):
        return _mentions_program(arguments, "rm", "unlink", "shred")
    return name == "rm" and any(posixpath.basename(word) in ("*", ".*", "*.*") for word in arguments)


def _force_cleans(command: SimpleCommand) -> bool:
    verb, arguments = _git_subcommand(command)
    return verb == "clean" and _has_option(arguments, "f", "--force")


def _forces_a_push(command: SimpleCommand) -> bool:
    verb, arguments = _git_subcommand(command)
    if verb != "push":
        return False
    forced = _has_option(arguments, "f", "--force") or any(word.startswith("--force-") for word in arguments)
    deletes = _has_option(arguments, "d", "--delete") or "--mirror" in arguments
    return forced or deletes or any(word[:1] in ("+", ":") for word in arguments)


def _resets(command: SimpleCommand) -> bool:
    verb, arguments = _git_subcommand(command)
    return verb == "reset" and _has_option(arguments, "", "--hard")


def _destroys_a_device(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name.startswith("mkfs") or name in ("shred", "wipefs", "mke2fs", "blkdiscard"):
        return True
    targets = arguments if name in ("truncate", "tee", "cp", "mv") else _outputs_of_dd(command)
    return any(_is_device(target) for target in (*targets, *command.writes))


def _changes_system_permissions(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    recursive = _has_option(arguments, "R", "--recursive")
    return name in ("chmod", "chown", "chgrp") and recursive and any(map(_is_outside, arguments))


def _kills_all_processes(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    return name == "killall5" or (name == "kill" and "-1" in arguments[1:])


def _shuts_down(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name == "init":
        return arguments[:1] in (["0"], ["6"])
    return name in _POWER_COMMANDS or (name == "systemctl" and any(word in _POWER_COMMANDS for word in arguments))


def _writes_outside(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    operands = [word for word in arguments if not word.startswith("-")]
    targets = [*command.writes, *_outputs_of_dd(command)]
    if name in _WRITES_EACH_ARGUMENT:
        targets += operands
    elif name in _WRITES_LAST_ARGUMENT:
        targets += operands[-1:]
    return any(_is_outside(target) and not _is_device(target) for target in targets)


def _drops_data(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name in _SEARCHES:
        return False
    reads = "" if name in ("cat", "tee") else command.text
    return name == "dropdb" or bool(_SQL_DROP.search(f"{' '.join(arguments)} {reads}"))


_CHECKS_BY_RULE: dict[str, Callable[[SimpleCommand], bool]] = {
    "deletes a folder with everything in it": _deletes_a_folder,
    "deletes many files at once": _deletes_many_files,
    "deletes files that git does not keep": _force_cleans,
    "overwrites or deletes what a remote repository has": _forces_a_push,
    "throws away changes that are not committed": _resets,
    "destroys data on a device": _destroys_a_device,
    "changes rights or owners outside of the workspace": _changes_system_permissions,
    "ends every process": _kills_all_processes,
    "turns the machine off": _shuts_down,
    "writes outside of the workspace": _writes_outside,
    "drops a table or a database": _drops_data,
}


# Rules about deletions that the history of the workspace may be able to undo.
DELETIONS = {
    rule
    for rule, check in _CHECKS_BY_RULE.items()
    if check in (_deletes_a_folder, _deletes_many_files, _force_cleans, _resets)
}


def _has_option(arguments: Sequence[str], letter: str, long: str = "") -> bool:
    """Return whether an option is present, possibly in a cluster (-xdf) or shortened (--rec), as getopt_long allows."""
    for word in arguments:
        if word.startswith("--"):
            if long and len(word) > 2 and long.startswith(word.partition("=")[0]):
                return True
        elif letter and word.startswith("-") and letter in word:
            return True
    return False


def _mentions_program(arguments: Sequence[str], *programs: str) -> bool:
    return any(posixpath.basename(word) in programs for word in arguments)


def _git_subcommand(command: SimpleCommand) -> tuple[str, list[str]]:
    """Return the subcommand of git and its arguments."""
    name, *arguments = command.words or [""]
    while name == "git" and arguments:
        word = arguments.pop(0)
        if word in _GIT_OPTIONS_WITH_VALUE:
            arguments = arguments[1:]
        elif not word.startswith("-"):
            return word, arguments
    return "", []


def _outputs_of_dd(command: SimpleCommand) -> list[str]:
    name, *arguments = command.words or [""]
    return [word.removeprefix("of=") for word in arguments if name == "dd" and word.startswith("of=")]


def _is_device(path: str) -> bool:
    return _normalized(path).startswith("/dev/") and not _HARMLESS_DEVICES.fullmatch(_normalized(path))


def _is_outside(path: str) -> bool:
    """Return whether a path certainly leads outside. A leading variable or ~ is unknown before the command runs."""
    if path.startswith(("$", "~")):
        return False
    absolute = _normalized(path)
    inside = any(absolute == folder or absolute.startswith(f"{folder}/") for folder in (WORKSPACE, TEMPORARY))
    return not inside and not _HARMLESS_DEVICES.fullmatch(absolute)


def _normalized(path: str) -> str:
    return posixpath.normpath(posixpath.join(WORKSPACE, path)).replace("//", "/")
