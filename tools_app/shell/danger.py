"""How dangerous a shell command is, judged as a whole: what it runs, and what that runs in turn."""

import re

from tools_app.contract.base import Danger, Judgement
from tools_app.shell.nesting import effective, scripts_in, takes_its_program_from_outside
from tools_app.shell.rules import rules_of
from tools_app.shell.syntax import SimpleCommand, read

FORK_BOMB = "starts processes without end"
RUNS_A_DOWNLOAD = "runs what it downloads or decodes"
HIDDEN = "cannot be read before it runs, and has words of dangerous commands in it"

_MAX_SCRIPTS = 20  # within one another; more is an attempt to hide something

_BOMB = re.compile(r"([\w:.-]{1,30})\s*\(\s*\)\s*\{[^}]{0,200}?(?<![\w:.-])\1\s*\|\s*\1\s*&")
_SOURCES = {
    *("curl", "wget", "fetch", "aria2c", "nc", "ncat", "base64", "base32", "xxd", "openssl", "uudecode", "gunzip"),
    *("zcat"),
}
_NOT_LITERAL = re.compile(r"[$*?{\[]")
_SUSPICIOUS = re.compile(
    r"\b(rm|dd|shred|mkfs|wipefs|kill|curl|wget|eval|reboot|shutdown)\b|-delete\b|--force|--hard|\bdrop\b",
    re.IGNORECASE,
)


def judgement(text: str) -> Judgement:
    """Moderate, or dangerous with the words of every rule that `text` falls under. Never raises."""
    found: dict[str, None] = {}  # a set that keeps its order
    seen: set[str] = set()
    waiting = [text]
    while waiting and len(seen) < _MAX_SCRIPTS:
        script = waiting.pop(0)
        if script not in seen:
            seen.add(script)
            rules, nested = _of_one(script)
            found |= dict.fromkeys(rules)
            waiting += nested
    if waiting and _SUSPICIOUS.search(text):
        found[HIDDEN] = None
    return Judgement(danger=Danger.DANGEROUS, rule="; ".join(found)) if found else Judgement(danger=Danger.MODERATE)


def _of_one(text: str) -> tuple[list[str], list[str]]:
    """The rules that one script falls under by itself, and the scripts that it hands to other shells."""
    script = read(text)
    commands = [inner for command in script.commands for inner in effective(command)]
    rules = [rule for command in commands for rule in rules_of(command)]
    if _BOMB.search(text):
        rules.append(FORK_BOMB)
    if any(_name(command) in _SOURCES for command in commands) and any(map(takes_its_program_from_outside, commands)):
        rules.append(RUNS_A_DOWNLOAD)
    if (not script.complete or any(map(_has_no_literal_name, commands))) and _SUSPICIOUS.search(text):
        rules.append(HIDDEN)
    return rules, [nested for command in commands for nested in scripts_in(command)]


def _name(command: SimpleCommand) -> str:
    return command.words[0] if command.words else ""


def _has_no_literal_name(command: SimpleCommand) -> bool:
    return _name(command) not in ("[", "[[") and bool(_NOT_LITERAL.search(_name(command)))
