"""The danger of a shell command. It covers everything that the command runs, directly or through other programs."""

import posixpath
import re
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from tools_app.contract import Danger, Judgement
from tools_app.files import Workspace
from tools_app.sandbox.base import WORKSPACE
from tools_app.shell.git import repository_rule, subcommand
from tools_app.shell.losses import DELETES_FOLDER, DELETES_MANY, losses_of
from tools_app.shell.nesting import (
    DOWNLOADERS,
    SUSPICIOUS,
    programs_of_assignments,
    reads_program_from_input,
    reads_unknown_commands,
    runs_a_substitution,
    runs_decoded_text,
    script_file,
    scripts_in,
    texts_of,
    unwrapped_commands,
)
from tools_app.shell.options import operands, option_values
from tools_app.shell.restorable import Holdings
from tools_app.shell.rules import SERVICE_DELETIONS, rules_of
from tools_app.shell.script import SimpleCommand
from tools_app.shell.shell_state import HOME, ShellState, ShellStateReader
from tools_app.shell.syntax import parse_script

FORK_BOMB = "starts processes without end"
RUNS_A_DOWNLOAD = "runs what it downloads or decodes"
UNREADABLE = "runs commands that cannot be read before"
HIDDEN = "cannot be read before it runs, and has words of dangerous commands in it"

_MAX_SCRIPTS = 20  # nested scripts; more suggest that something is hidden
_MAX_SHOWN_COMMAND = 150  # characters of a command in the reason
_MAX_NAMED_PATHS = 3  # paths in the reason
_FORK_BOMB_PATTERN = re.compile(r"([\w:.-]{1,30})\s*\(\s*\)\s*\{[^}]{0,200}?(?<![\w:.-])\1\s*\|\s*\1\s*&")
_NOT_LITERAL = re.compile(r"[$*?{\[]")
_REMOTE = {"ssh", "docker", "podman", "kubectl", "chroot", "nsenter"}  # wrappers that run a command on other files
_REPEATING = {"xargs", "find", "parallel", "fd", "fdfind"}
_RELOCATING_OPTIONS = ("-C", "-D", "-R", "--ch")  # options of wrappers that change the folder
_TEXT_WRITERS = {"cat", "echo", "printf", "tee"}
_LOSSES_ANYWHERE = {DELETES_FOLDER, DELETES_MANY}  # dangerous also where the files are not known
_WITH_SUBCOMMANDS = {"git", *SERVICE_DELETIONS}


def python_command(code: str) -> str:
    """Return the command that runs the code of a call with Python, for its judgement."""
    return f"python3 -c {shlex.quote(code)}"


def judgement(text: str, workspace: Workspace | None = None) -> Judgement:
    """Return Moderate, or Dangerous with the texts of all rules that apply to `text`. Never raises.

    With a `workspace`, files that its history can restore are no loss.
    """
    holdings = Holdings(workspace) if workspace else None
    scripts: dict[tuple[str, ShellState], _Script] = {}
    queue = deque([(text, ShellState(folders=frozenset([WORKSPACE]), variables={"HOME": (HOME,)}))])
    while queue and len(scripts) < _MAX_SCRIPTS:
        key = queue.popleft()
        if key not in scripts:
            scripts[key] = _Script(*key, holdings)
            queue += scripts[key].nested()
    # A script can move files that another one deletes, so look at all of them before.
    rules = [rule for script in scripts.values() for rule in script.rules()]
    if queue and SUSPICIOUS.search(text):
        rules.append((HIDDEN, shortened(text)))
    if not rules:
        return Judgement(danger=Danger.MODERATE)
    texts, covered = zip(*rules, strict=True)
    return Judgement(
        danger=Danger.DANGEROUS,
        rule="; ".join(dict.fromkeys(texts)),
        covers=shortened(", ".join(dict.fromkeys(covered))),
    )


class _Script:
    """A script, or one that it passes to another shell, with the state in which it begins."""

    def __init__(self, text: str, start: ShellState, holdings: Holdings | None) -> None:
        self._text, self._holdings = text, holdings
        parsed = parse_script(text)
        self._is_complete = parsed.is_complete
        is_folder = holdings.is_folder if holdings else lambda path: False
        states = ShellStateReader(parsed.commands, text, start, is_folder).read()
        self._outer = list(zip(parsed.commands, states, strict=True))
        self._commands = [
            (outer, inner, around) for outer, around in self._outer for inner in unwrapped_commands(outer)
        ]
        self._written = self._written_texts()
        if holdings:
            for _, inner, around in self._commands:
                holdings.note_relocation(inner, around)

    def nested(self) -> Iterator[tuple[str, ShellState]]:
        """Yield the scripts that the commands pass to other shells, each with its state."""
        for outer, inner, around in self._commands:
            prefix = _prefix(outer, inner)
            is_repeated = around.is_repeated or not _REPEATING.isdisjoint([*prefix, _program(inner)])
            folders = None if _is_relocated(prefix) else around.folders
            is_same_shell = _program(inner) in ("trap", "eval")
            variables = {n: values for n, values in around.variables.items() if is_same_shell or n == "HOME"}
            start = ShellState(folders=folders, variables=variables, is_repeated=is_repeated)
            written = self._written_text(outer, inner, around)
            texts = [*scripts_in(inner), written or "", *self._resolved(inner, around)]
            yield from ((text, start) for text in texts if text.strip())
        for outer, _ in self._outer:
            yield from ((text, ShellState(folders=None)) for text in programs_of_assignments(outer))

    def _resolved(self, command: SimpleCommand, around: ShellState) -> list[str]:
        """Return the possible texts of a command whose name is in variables; none if they are unknown."""
        name = _program(command)
        if "$" not in name or "{" in name.replace("${", "") or "IFS" in self._text:
            return []
        names = around.expand(name)
        return [" ".join([name, *map(shlex.quote, command.words[1:])]) for name in names or ()]

    def rules(self) -> Iterator[tuple[str, str]]:
        """Yield each rule that applies, with what an approval of it covers."""
        is_suspicious = bool(SUSPICIOUS.search(self._text))
        commands = [inner for _, inner, _ in self._commands]
        downloads = any(_program(command) in DOWNLOADERS for command in commands)
        is_unknown = False
        for outer, inner, around in self._commands:
            yield from ((rule, kind(inner)) for rule in rules_of(inner, around))
            yield from self._losses(outer, inner, around)
            runs_unknown_file = self._written_text(outer, inner, around) is None
            if downloads and (runs_unknown_file or reads_program_from_input(inner)):
                yield RUNS_A_DOWNLOAD, shortened(self._text)
            elif runs_unknown_file or reads_unknown_commands(inner) or runs_decoded_text(inner):
                yield UNREADABLE, shortened(self._text)
            is_unknown |= runs_a_substitution(inner) and bool(SUSPICIOUS.search(self._text.replace("eval", "")))
            is_unknown |= _has_no_literal_name(inner) and not (self._holdings and self._resolved(inner, around))
        if _FORK_BOMB_PATTERN.search(self._text):
            yield FORK_BOMB, shortened(self._text)
        if is_suspicious and (is_unknown or not self._is_complete):
            yield HIDDEN, shortened(self._text)

    def _losses(self, outer: SimpleCommand, inner: SimpleCommand, around: ShellState) -> Iterator[tuple[str, str]]:
        prefix = _prefix(outer, inner)
        if _is_relocated(prefix):
            around = replace(around, folders=None)
        written = self._written_text(outer, inner, around)
        command = replace(inner, text=inner.text + written) if written else inner
        holdings, is_elsewhere = self._holdings, not _REMOTE.isdisjoint(prefix)
        for loss in losses_of(command, outer):
            if not loss.operands or (loss.rule not in _LOSSES_ANYWHERE and (holdings is None or is_elsewhere)):
                continue
            if holdings is None:
                yield loss.rule, _command_line(outer)
                continue
            lost = None if is_elsewhere else holdings.losses(loss, around, inner)
            if lost != []:
                yield f"{loss.rule}: {_command_line(outer)}{_note(lost)}", _command_line(outer)
        if rule := repository_rule(inner, lambda word: bool(holdings and holdings.is_path(word, around))):
            folder = next(option_values(inner.words[:3], "-C"), ".")
            at_folder = replace(around, folders=around.folders_after(folder))
            if holdings is None or holdings.repository_losses(at_folder) != []:
                yield rule, kind(inner)

    def _written_texts(self) -> dict[str, str | None]:
        """Return the texts of files that commands write, by path; None for a text that is not known."""
        texts: dict[str, str | None] = {}
        for outer, inner, around in self._commands:
            name, *arguments = inner.words or [""]
            paths = [*outer.writes] if inner.words == [] or inner.writes else []
            paths += operands(arguments) if name == "tee" else []
            paths += option_values(arguments, "-o", "-O", "--output") if name in DOWNLOADERS else []
            paths += map(posixpath.basename, operands(arguments)) if name in ("curl", "wget") else []
            text = "\n".join(texts_of(inner)) if name in _TEXT_WRITERS else None
            for absolute in (absolute for path in paths for absolute in _absolute(path, around)):
                earlier = texts.get(absolute, "")
                texts[absolute] = f"{earlier}\n{text}" if text and earlier is not None else None
        return texts

    def _written_text(self, outer: SimpleCommand, inner: SimpleCommand, around: ShellState) -> str | None:
        """Return the text of a file that the script has written and that this command runs; "" if there is none."""
        path = script_file(inner, outer.words[len(outer.words) - len(inner.words)] if inner.words else "")
        for absolute in _absolute(path, around) if path else ():
            if absolute in self._written:
                return self._written[absolute]
        return ""


def shortened(text: str) -> str:
    """Return a command for display. A long one is cut and followed by a digest that identifies it."""
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(printable) <= _MAX_SHOWN_COMMAND:
        return printable
    return f"{printable[:_MAX_SHOWN_COMMAND]}… ({sha256(printable.encode(errors='replace')).hexdigest()[:12]})"


def _command_line(command: SimpleCommand) -> str:
    return shortened(" ".join([shlex.join(command.words), *(f"> {path}" for path in command.writes)]).strip())


def kind(command: SimpleCommand) -> str:
    """Return the program and its subcommand: what an approval covers of a rule that names no file."""
    name = _program(command)
    words = (word for word in command.words[1:] if re.fullmatch("[a-z]+", word))
    verb = subcommand(command.words)[0] or next(words, "")
    return f"{name} {verb}" if verb and name in _WITH_SUBCOMMANDS else name


def _program(command: SimpleCommand) -> str:
    return command.words[0] if command.words else ""


def _prefix(outer: SimpleCommand, inner: SimpleCommand) -> list[str]:
    """Return the words of the wrappers around a command."""
    return [posixpath.basename(word) for word in outer.words[: len(outer.words) - len(inner.words)]]


def _is_relocated(prefix: Sequence[str]) -> bool:
    """Return whether wrappers may run a command in another folder."""
    return not _REMOTE.isdisjoint(prefix) or any(word.startswith(_RELOCATING_OPTIONS) for word in prefix[1:])


def _has_no_literal_name(command: SimpleCommand) -> bool:
    return _program(command) not in ("[", "[[") and bool(_NOT_LITERAL.search(_program(command)))


def _absolute(path: str, around: ShellState) -> Iterator[str]:
    for folder in around.folders or {"?"}:
        for value in around.expand(path) or [path]:
            yield posixpath.normpath(posixpath.join(folder, value))


def _note(lost: Sequence[str] | None) -> str:
    if not lost:
        return ""
    more = f" and {len(lost) - _MAX_NAMED_PATHS} more" if len(lost) > _MAX_NAMED_PATHS else ""
    return f" (not in the file history: {', '.join(lost[:_MAX_NAMED_PATHS])}{more})"
