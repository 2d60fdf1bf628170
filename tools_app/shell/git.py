"""The subcommands of git that lose commits, changes or files which are nowhere else."""

from collections.abc import Callable, Sequence

from tools_app.shell.options import has_option, operands
from tools_app.shell.script import SimpleCommand

CLEANS = "deletes files that git does not keep"
DISCARDS = "throws away changes that are not committed"
FORGETS = "deletes what only the repository holds, such as a branch or stash"
REWRITES = "rewrites commits of the repository"

_OPTIONS_WITH_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}
_NEW_BRANCH = ("b", "B", "t")


def subcommand(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the subcommand of git and its arguments; "" for another program."""
    name, *arguments = words or [""]
    while name == "git" and arguments:
        word = arguments.pop(0)
        if word in _OPTIONS_WITH_VALUE:
            arguments = arguments[1:]
        elif not word.startswith("-"):
            return word, arguments
    return "", []


def repository_rule(command: SimpleCommand, is_path: Callable[[str], bool]) -> str:
    """Return the rule by which a command loses parts of a repository, or "".

    `is_path` tells whether a word names files rather than a branch.
    """
    verb, arguments = subcommand(command.words)
    if verb == "clean":
        needs_force = not any(word.lower() == "clean.requireforce=false" for word in command.words)
        is_forced = has_option(arguments, "f", "--force") or not needs_force
        return CLEANS if is_forced and not _is_dry_run(arguments) else ""
    if verb == "checkout":
        return DISCARDS if _checks_out_files(arguments, is_path) else ""
    rule, loses = _RULES_BY_VERB.get(verb, ("", None))
    return rule if loses and loses(arguments) else ""


def _is_forced(arguments: Sequence[str]) -> bool:
    return has_option(arguments, "f", "--force")


def _is_dry_run(arguments: Sequence[str]) -> bool:
    return has_option(arguments, "n", "--dry-run")


def _has_any(*options: str) -> Callable[[Sequence[str]], bool]:
    """Return a check for long options, which may be shortened."""
    return lambda arguments: any(has_option(arguments, "", option) for option in options)


def _has_action(*actions: str) -> Callable[[Sequence[str]], bool]:
    return lambda arguments: next(iter(operands(arguments)), "") in actions


def _restores_files(arguments: Sequence[str]) -> bool:
    return not has_option(arguments, "S", "--staged") or has_option(arguments, "W", "--worktree")


def _forces_a_branch(arguments: Sequence[str]) -> bool:
    return _is_forced(arguments) or any(has_option(arguments, letter) for letter in "DMC")


def _rebases(arguments: Sequence[str]) -> bool:
    return not any(word in _ENDS_OF_REBASE for word in arguments)


_ENDS_OF_REBASE = ("--abort", "--continue", "--quit", "--show-current-patch", "--edit-todo")
_RULES_BY_VERB: dict[str, tuple[str, Callable[[Sequence[str]], bool]]] = {
    "switch": (DISCARDS, lambda arguments: _is_forced(arguments) or _has_any("--discard-changes")(arguments)),
    "restore": (DISCARDS, _restores_files),
    "reset": (DISCARDS, _has_any("--hard", "--merge")),
    "read-tree": (DISCARDS, lambda arguments: "-u" in arguments or "--reset" in arguments),
    "checkout-index": (DISCARDS, _is_forced),
    "submodule": (DISCARDS, lambda arguments: _has_action("deinit")(arguments) and _is_forced(arguments)),
    "worktree": (DISCARDS, lambda arguments: _has_action("remove")(arguments) and _is_forced(arguments)),
    "stash": (FORGETS, _has_action("drop", "clear")),
    "branch": (FORGETS, _forces_a_branch),
    "tag": (FORGETS, lambda arguments: has_option(arguments, "d", "--delete") or _is_forced(arguments)),
    "update-ref": (FORGETS, bool),
    "symbolic-ref": (FORGETS, lambda arguments: has_option(arguments, "d", "--delete")),
    "notes": (FORGETS, _has_action("remove", "prune")),
    "reflog": (FORGETS, lambda args: _has_action("expire", "delete", "drop")(args) and not _is_dry_run(args)),
    "gc": (FORGETS, lambda arguments: any(word.startswith("--prune=") for word in arguments)),
    "prune": (FORGETS, lambda arguments: not _is_dry_run(arguments)),
    "fetch": (FORGETS, lambda args: any(word.startswith("+") and ":refs/heads" in word for word in args)),
    "filter-branch": (REWRITES, bool),
    "filter-repo": (REWRITES, lambda arguments: True),
    "rebase": (REWRITES, _rebases),
}


def _checks_out_files(arguments: Sequence[str], is_path: Callable[[str], bool]) -> bool:
    if _is_forced(arguments) or has_option(arguments, "p", "--patch"):
        return True
    if any(has_option(arguments, letter) for letter in _NEW_BRANCH) or has_option(arguments, "", "--orphan"):
        return False
    named = operands(arguments)
    if "--" in arguments:
        return arguments[-1] != "--"
    if has_option(arguments, "", "--pathspec-from-file"):
        return True
    return len(named) > 1 or any(word.startswith((".", ":")) or "*" in word or is_path(word) for word in named)
