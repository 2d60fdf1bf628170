"""The folder and the variables that each command of a script runs with, as far as its text tells them.

A folder or value counts as known only if nothing else in the text can have changed it. A command that may run in one of
several folders has all of them.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools_app.sandbox.base import TEMPORARY
from tools_app.shell.script import SUBSTITUTION_MARK, SimpleCommand
from tools_app.shell.tokens import KEYWORDS

HOME = f"{TEMPORARY}/home"  # stands for the programs' home, wherever the sandbox has it
_MAX_VALUES = 64  # values of one word, and folders of one command
_MAX_VARIABLES = 100
_NAME = re.compile(r"(?<![$\w{-])[A-Za-z_]\w*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:%(\.[\w*]{1,20})|(##\*/))?\})")
_BRACES = re.compile(r"(?<!\$)\{([^{}$`\s,]*(?:,[^{}$`\s,]*)+)\}")
_QUOTED_HOME = re.compile(r"['\\]\$\{?HOME|['\"\\]~")
UNKNOWN = re.compile(r"[$`{]|^~|\[secret:|" + re.escape(SUBSTITUTION_MARK))
_SEPARATED = re.compile(r"\s")
_DECLARATIONS = {"export", "declare", "typeset", "local", "readonly"}
_FOLDER_CHANGES = {"cd", "pushd", "popd"}
# Names in a text after which folders are not known.
_OTHER_FOLDERS = {"CDPATH", "OLDPWD", "alias", "enable", "lastpipe", "chroot", "mount"}
_OWN_NAMES = {"PWD", "IFS", "HOME", "TMPDIR"}  # a shell changes or uses them itself
_LOOPS = {"for", "while", "until", "select"}
_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*):?=")


@dataclass(frozen=True, kw_only=True)
class ShellState:
    """The possible folders of a command, None if they are unknown, and the variables known to it.

    With `is_repeated`, a loop or another program may run it on many files. The value "" stands for a variable that may
    not be set yet.
    """

    folders: frozenset[str] | None
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    is_repeated: bool = False

    def expand(self, word: str) -> list[str] | None:
        """Return all values that a word may have, with patterns of file names as written; None if it is unknown."""
        values = [word]
        for _ in range(8):
            if not any(_VARIABLE.search(value) or _BRACES.search(value) for value in values):
                break
            values = [inner for value in values for inner in self._replaced(value)]
            if len(values) > _MAX_VALUES or not values:
                return None
        if "HOME" in self.variables:
            values = [HOME + value[1:] if value == "~" or value.startswith("~/") else value for value in values]
        return None if any(UNKNOWN.search(value) for value in values) else values

    def with_set_variables(self) -> "ShellState":
        """Return the state of the command if it runs after all assignments."""
        return replace(self, variables={n: tuple(filter(None, values)) for n, values in self.variables.items()})

    def _replaced(self, value: str) -> Iterator[str]:
        """Yield `value` with its first variable or list in braces replaced by each of its values."""
        if match := _BRACES.search(value):
            parts: Sequence[str] = match[1].split(",")
        elif match := _VARIABLE.search(value):
            name = match[1] or match[2]
            is_folder = name == "PWD" and self.folders
            parts = sorted(self.folders or ()) if is_folder else self.variables.get(name, (SUBSTITUTION_MARK,))
            parts = [_without_ends(part, match[3] or "", is_base_name=bool(match[4])) for part in parts]
        else:
            yield value
            return
        for part in parts:
            yield f"{value[: match.start()]}{part}{value[match.end() :]}"

    def folders_after(self, target: str) -> frozenset[str] | None:
        """Return the possible folders after `cd target`."""
        targets = self.expand(target)
        if self.folders is None or targets is None or any(re.search(r"[*?\[]", path) for path in targets):
            return None
        paths = frozenset(posixpath.normpath(posixpath.join(f, path)) for f in self.folders for path in targets)
        return paths if len(paths) <= _MAX_VALUES else None


@dataclass
class _Shell:
    """A shell or subshell. It is still in a folder of `earlier` if a command of the present list fails."""

    now: ShellState
    earlier: frozenset[str] = frozenset()
    stack: tuple[frozenset[str] | None, ...] = ()
    ends_on_errors: bool = False

    def end_list(self) -> None:
        if self.earlier and self.now.folders is not None:
            self.now = replace(self.now, folders=self.now.folders | self.earlier)
        self.earlier = frozenset()


class ShellStateReader:
    """A reader of the commands of one script, in the order of its text."""

    def __init__(
        self, commands: Sequence[SimpleCommand], text: str, start: ShellState, is_folder: Callable[[str], bool]
    ) -> None:
        self._commands, self._is_folder = commands, is_folder
        names = Counter(_NAME.findall(text))
        self._scopes = Counter(command.scope for command in commands)
        redefined = {word for c in commands if c.is_definition or c.words[:1] == ["function"] for word in c.words}
        has_loop = any(word in _LOOPS for c in commands for word in c.words[:2])
        knows_folders = _OTHER_FOLDERS.isdisjoint(names) and _FOLDER_CHANGES.isdisjoint(redefined)
        has_usual_home = "HOME" in start.variables and not {"HOME", "TMPDIR"} & names.keys()
        has_usual_home = has_usual_home and not _QUOTED_HOME.search(text)
        assigned = Counter(name for command in commands for name, _ in _assignments(command))
        self._known_names = {name for name, count in assigned.items() if names[name] == count} - _OWN_NAMES
        self._known_names -= {*_DEFAULT.findall(text)}
        inherited = {n: values for n, values in start.variables.items() if n not in names and n != "HOME"}
        self._start = replace(
            start,
            folders=start.folders if knows_folders else None,
            variables={**inherited, "HOME": (HOME,)} if has_usual_home else inherited,
            is_repeated=start.is_repeated or has_loop,
        )
        self._can_know_folders = knows_folders
        self._shells: dict[tuple[int, ...], _Shell] = {}
        # A command in a function, loop or trap may run after later assignments.
        self._runs_later = has_loop or bool(redefined) or any("trap" in c.words[:2] for c in commands)
        self._values_by_name: dict[str, tuple[str, ...] | None] = {}  # of the entire script; None: some are unknown

    def read(self) -> list[ShellState]:
        """Return the state of each command."""
        states = self._read_in_order()
        if self._runs_later:
            self._shells = {}
            states = self._read_in_order()
        return list(map(self._at_any_time, states))

    def _at_any_time(self, now: ShellState) -> ShellState:
        """Return a state with the values of assignments that may come before a command in another order."""
        variables = {**now.variables}
        for name, values in self._values_by_name.items():
            known = variables.get(name, ("",))
            if values and (self._runs_later or name not in variables):
                variables[name] = tuple(dict.fromkeys([*known, *values]))
            elif values is None and self._runs_later:
                variables.pop(name, None)
        return replace(now, variables=variables)

    def _read_in_order(self) -> list[ShellState]:
        states = []
        for index, command in enumerate(self._commands):
            shell = self._shell_of(command)
            if command.words[:1] in (["exit"], ["return"]) and command.operator == "||":
                shell.earlier = frozenset()
            elif command.operator not in ("", "&&", "|", "|&"):
                shell.end_list()
            states.append(shell.now)
            if not command.runs_aside:
                self._assign(shell, index, command)
                self._change_folder(shell, index, command)
        return states

    def _shell_of(self, command: SimpleCommand) -> _Shell:
        """Return the shell that runs a command: a new one begins as a copy of the shell around it."""
        scope = command.scope
        if scope not in self._shells:
            around = (scope[:length] for length in range(len(scope) - 1, 0, -1))
            outer = next((self._shells[each] for each in around if each in self._shells), None)
            if outer and command.operator not in ("", "&&", "|", "|&"):
                outer.end_list()
            self._shells[scope] = replace(outer, earlier=frozenset()) if outer else _Shell(self._start)
        return self._shells[scope]

    def _change_folder(self, shell: _Shell, index: int, command: SimpleCommand) -> None:
        words = _without_keywords(command.words)
        while words[:1] in (["command"], ["builtin"]):
            words = words[1:]
        if words[:1] == ["set"] and any(word == "errexit" or (word[:1] == "-" and "e" in word) for word in words[1:]):
            shell.ends_on_errors = True
        if not words or words[0] not in {*_FOLDER_CHANGES, "eval"}:
            return
        before = shell.now.folders
        if words[0] == "eval" or command.is_conditional or command.words[0] in KEYWORDS or not self._can_know_folders:
            after = None
        elif words[0] == "popd":
            after = shell.stack[-1] if shell.stack and len(words) == 1 else None
            shell.stack = shell.stack[:-1]
        else:
            targets = [word for word in words[1:] if word not in ("-P", "-L", "-e", "--")]
            after = shell.now.folders_after((targets or ["$HOME"])[0])
            if len(targets) > 1 or (targets and targets[0][:1] in "-+") or (words[0] == "pushd" and not targets):
                after = None
            shell.stack = (*shell.stack, before)[-20:] if words[0] == "pushd" else shell.stack
        following = self._commands[index + 1].operator if index + 1 < len(self._commands) else ""
        is_alone = command.operator not in ("&&", "||") and following not in ("&&", "||")
        exists = after is not None and all(map(self._is_folder, after)) and command.operator not in ("&&", "||")
        if before is not None and not exists and not (shell.ends_on_errors and is_alone):
            shell.earlier |= before
        shell.now = replace(shell.now, folders=after)

    def _assign(self, shell: _Shell, index: int, command: SimpleCommand) -> None:
        for name, words in _assignments(command):
            variables = shell.now.variables
            earlier = variables.get(name, ())
            is_loop = "for" in command.words[:2]
            is_certain = is_loop or not (command.is_conditional or command.operator in ("&&", "||"))
            values = [value for word in words for value in self._values(shell, index, word) or [""]]
            is_known = name in self._known_names and bool(values) and all(values)
            others = self._values_by_name.get(name, ())
            is_short = is_known and others is not None and len(others) + len(values) <= _MAX_VALUES
            self._values_by_name[name] = (
                tuple(dict.fromkeys([*others, *values])) if others is not None and is_short else None
            )
            if is_known and (is_certain or earlier) and len(values) <= _MAX_VALUES and len(variables) < _MAX_VARIABLES:
                shell.now = replace(shell.now, variables={**variables, name: (*earlier, *values)})
            elif earlier:
                shell.now = replace(shell.now, variables={n: v for n, v in variables.items() if n != name})

    def _values(self, shell: _Shell, index: int, word: str) -> list[str] | None:
        """Return the values of an assigned word; None if they are unknown, or a shell would split them."""
        if word == SUBSTITUTION_MARK and self._is_temporary(index):
            return [f"{TEMPORARY}/mktemp.{index}"]
        values = (self._at_any_time(shell.now) if self._runs_later else shell.now).expand(word)
        return None if values is None or any(map(_SEPARATED.search, values)) else values

    def _is_temporary(self, index: int) -> bool:
        """Return whether the only substitution in a command is one of mktemp, in its usual folder."""
        inner = self._commands[index - 1] if index else SimpleCommand()  # substitutions come before their command
        is_inner = inner.scope[:-1] == self._commands[index].scope and self._scopes[inner.scope] == 1
        is_usual = all(word.startswith(("-", f"{TEMPORARY}/")) for word in inner.words[1:])
        has_folder = any(word.startswith(("-p", "--tm")) for word in inner.words[1:])
        return is_inner and inner.words[:1] == ["mktemp"] and is_usual and not has_folder


def _without_ends(value: str, suffix: str, *, is_base_name: bool) -> str:
    """Return the value of ${name%suffix} or ${name##*/}."""
    if suffix == ".*":
        return value.rpartition(".")[0] if "." in value.rpartition("/")[2] else value
    if suffix and ("*" in suffix or not value.endswith(suffix)):
        return SUBSTITUTION_MARK
    shorter = value.removesuffix(suffix)
    return shorter.rpartition("/")[2] if is_base_name else shorter


def _assignments(command: SimpleCommand) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the variables that a command sets in its shell, each with its possible words."""
    words = _without_keywords(command.words)
    if "for" in command.words[:2] and words[1:2] == ["in"]:
        yield words[0], words[2:]
    elif words[:1] and words[0] in _DECLARATIONS:
        words = [word for word in words[1:] if not word.startswith("-")]
    if all(map(_ASSIGNMENT.fullmatch, words)):
        for word in words:
            name, _, value = word.partition("=")
            yield name, [value]


def _without_keywords(words: Sequence[str]) -> list[str]:
    start = next((index for index, word in enumerate(words) if word not in KEYWORDS), len(words))
    return list(words[start:])
