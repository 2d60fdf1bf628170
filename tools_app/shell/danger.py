"""The danger of a shell command. It covers everything that the command runs, directly or through other programs."""

import posixpath
import re
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tools_app.contract import Danger, Judgement
from tools_app.files import Workspace
from tools_app.shell.deletions import Deletions
from tools_app.shell.rules import rules_of
from tools_app.shell.script import SUBSTITUTION_MARK, SimpleCommand
from tools_app.shell.syntax import parse_script

FORK_BOMB = "starts processes without end"
RUNS_A_DOWNLOAD = "runs what it downloads or decodes"
HIDDEN = "cannot be read before it runs, and has words of dangerous commands in it"

_MAX_SCRIPTS = 20  # nested scripts; more suggest that something is hidden

_FORK_BOMB_PATTERN = re.compile(r"([\w:.-]{1,30})\s*\(\s*\)\s*\{[^}]{0,200}?(?<![\w:.-])\1\s*\|\s*\1\s*&")
_DOWNLOADERS = {
    *("curl", "wget", "fetch", "aria2c", "nc", "ncat", "base64", "base32", "xxd", "openssl", "uudecode", "gunzip"),
    "zcat",
}
_NOT_LITERAL = re.compile(r"[$*?{\[]")
_SUSPICIOUS = re.compile(
    r"\b(rm|dd|shred|mkfs|wipefs|kill|curl|wget|eval|reboot|shutdown)\b|-delete\b|--force|--hard|\bdrop\b",
    re.IGNORECASE,
)

_MAX_PIPED = 5  # commands of a pipe before a shell whose arguments may be its script
_MAX_WRAPPED = 50  # leading words of a wrapper that are searched for its command

_KEYWORDS = {
    *("!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case"),
    "esac",
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=.*", re.DOTALL)
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "su"}
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|php)[\d.]*")
_WRAPPERS = {
    *("sudo", "doas", "env", "nohup", "time", "timeout", "nice", "ionice", "stdbuf", "setsid", "exec", "command"),
    *("builtin", "busybox", "toybox", "xargs", "parallel", "watch", "chroot", "unshare", "flock", "ssh", "find"),
    *("strace", "script", "runuser", "setpriv", "choom", "prlimit", "taskset", "function", "coproc", "trap"),
    "eval",
}


def python_command(code: str) -> str:
    """Return the command that runs the code of a call with Python, for its judgement."""
    return f"python3 -c {shlex.quote(code)}"


def judgement(text: str, workspace: Workspace | None = None) -> Judgement:
    """Return Moderate, or Dangerous with the texts of all rules that apply to `text`. Never raises.

    With a `workspace`, deletions of files that its history can restore do not count.
    """
    rules: dict[str, None] = {}  # an ordered set
    seen: set[str] = set()
    queue = deque([text])
    while queue and len(seen) < _MAX_SCRIPTS:
        script = queue.popleft()
        if script not in seen:
            seen.add(script)
            script_rules, nested = _judge_script(script, workspace, nested=script != text)
            rules |= dict.fromkeys(script_rules)
            queue += nested
    if queue and _SUSPICIOUS.search(text):
        rules[HIDDEN] = None
    return Judgement(danger=Danger.DANGEROUS, rule="; ".join(rules)) if rules else Judgement(danger=Danger.MODERATE)


def _judge_script(text: str, workspace: Workspace | None, *, nested: bool) -> tuple[list[str], list[str]]:
    """Return the rules that apply to one script, and the scripts that it passes to other shells."""
    script = parse_script(text)
    commands = [inner for command in script.commands for inner in unwrapped_commands(command)]
    rules = _matching_rules(script.commands, workspace, nested=nested)
    if _FORK_BOMB_PATTERN.search(text):
        rules.append(FORK_BOMB)
    if any(_program(command) in _DOWNLOADERS for command in commands) and any(map(reads_program_from_input, commands)):
        rules.append(RUNS_A_DOWNLOAD)
    if (not script.is_complete or any(map(_has_no_literal_name, commands))) and _SUSPICIOUS.search(text):
        rules.append(HIDDEN)
    return rules, [nested for command in commands for nested in scripts_in(command)]


def _matching_rules(commands: Sequence[SimpleCommand], workspace: Workspace | None, *, nested: bool) -> list[str]:
    deletions = Deletions(workspace, commands, nested=nested) if workspace else None
    matches: list[str] = []
    for outer in commands:
        for command in unwrapped_commands(outer):
            rules = rules_of(command)
            matches += deletions.filter_rules(rules, command, outer) if deletions else rules
    return matches


def _program(command: SimpleCommand) -> str:
    return command.words[0] if command.words else ""


def _has_no_literal_name(command: SimpleCommand) -> bool:
    return _program(command) not in ("[", "[[") and bool(_NOT_LITERAL.search(_program(command)))


def unwrapped_commands(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the command under its bare name, and every command that it may wrap.

    The options of wrappers differ, so each remainder of its words counts as a possible command.
    """
    words = _without_prefixes(command.words)
    yield replace(command, words=words)
    if words and words[0] in _WRAPPERS:
        for start in range(1, min(len(words), _MAX_WRAPPED)):
            yield replace(command, words=_without_prefixes(words[start:]))


def scripts_in(command: SimpleCommand) -> Iterator[str]:
    """Yield the texts that the command passes to a shell."""
    name, *arguments = command.words or [""]
    if name in _SHELLS:
        yield command.text
        if any(_is_cluster_with(word, "c") for word in arguments):
            yield from arguments
        source = command.piped_from
        for _ in range(_MAX_PIPED):
            if source is None:
                break
            yield source.text
            yield " ".join(source.words[1:]).replace("\\n", "\n")  # the source may be echo or printf
            source = source.piped_from
    elif name in ("eval", "trap"):
        yield " ".join(arguments)
    elif name in _WRAPPERS:
        yield from (word for word in arguments if " " in word)


def reads_program_from_input(command: SimpleCommand) -> bool:
    """Return whether this is a shell or an interpreter that reads its program from a pipe or a substitution."""
    name, *arguments = command.words or [""]
    substituted = any(SUBSTITUTION_MARK in word for word in arguments)
    if name in ("eval", "source", "."):
        return substituted
    if name not in _SHELLS and not _INTERPRETER.fullmatch(name):
        return False
    has_program = any(_is_cluster_with(word, "cem") or not word.startswith("-") for word in arguments)
    return substituted or (command.piped_from is not None and (not has_program or "-s" in arguments))


def _without_prefixes(words: Sequence[str]) -> list[str]:
    """Strip leading keywords and assignments, and the folder of the program."""
    start = 0
    while start < len(words) and (words[start] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[start])):
        start += 1
    remaining = list(words[start:])
    return [posixpath.basename(remaining[0]) or remaining[0], *remaining[1:]] if remaining else []


def _is_cluster_with(word: str, letters: str) -> bool:
    """Return whether `word` contains a short option out of `letters`, alone or in a cluster (-lc)."""
    return word.startswith("-") and not word.startswith("--") and any(letter in word for letter in letters)
