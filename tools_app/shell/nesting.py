"""Commands and scripts within a command: those that a wrapper runs, and the texts that a program passes to a shell."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tools_app.shell import interpreted
from tools_app.shell.git import subcommand
from tools_app.shell.interpreted import INTERPRETER
from tools_app.shell.options import operands, option_values
from tools_app.shell.script import SUBSTITUTION_MARK, SimpleCommand
from tools_app.shell.tokens import unescape

SUSPICIOUS = re.compile(
    r"\b(rm|dd|shred|mkfs|wipefs|kill|curl|wget|eval|reboot|shutdown|unlink|truncate|rmtree|mv|wipe|srm)\b|-delete\b"
    r"|--force|--hard|\bdrop\b|-\w*(rf|fr)\b|\bgit\s+(clean|checkout|restore|stash|branch)\b",
    re.IGNORECASE,
)
DOWNLOADERS = {
    *("curl", "wget", "fetch", "aria2c", "nc", "ncat", "base64", "base32", "xxd", "openssl", "uudecode", "gunzip"),
    *("zcat", "basenc", "gpg", "socat"),
}
_MAX_PIPED = 5  # commands of a pipe before a shell whose arguments may be its script
_MAX_WRAPPED = 50  # leading words of a wrapper that are searched for its command

_KEYWORDS = {
    *("!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case"),
    "esac",
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=.*", re.DOTALL)
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "su"}
_WRAPPERS = {
    *("sudo", "doas", "env", "nohup", "time", "timeout", "nice", "ionice", "stdbuf", "setsid", "exec", "command"),
    *("builtin", "busybox", "toybox", "watch", "chroot", "unshare", "flock", "ssh", "nsenter", "eatmydata", "fakeroot"),
    *("strace", "script", "runuser", "setpriv", "choom", "prlimit", "taskset", "function", "coproc", "ltrace"),
    *("start-stop-daemon", "systemd-run", "pkexec", "gosu", "su-exec", "firejail", "bwrap", "proot", "chrt"),
    *("unbuffer", "xvfb-run", "dbus-run-session", "faketime", "numactl", "cpulimit", "valgrind", "gdb", "entr", "uv"),
    *("poetry", "pipenv", "hatch", "pdm", "npx", "bunx", "conda", "docker", "podman", "kubectl", "screen", "tmux"),
    *("parallel", "hyperfine", "daemonize", "expect", "at", "batch", "rlwrap", "tini", "sem", "nodemon"),
}
_FIND_ACTIONS = ("-exec", "-execdir", "-ok", "-okdir")
_FD_ACTIONS = ("-x", "--exec", "-X", "--exec-batch")
_XARGS_OPTIONS_WITH_VALUE = {"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"}
# Programs whose own language can run commands.
_LANGUAGES = re.compile(
    r"[gmn]?awk|vim?|nvim|view|ex|ed|emacs|less|man|make|gmake|tclsh|tar|tmux|screen|env|expect|gdb"
)
_SED_EXECUTION = re.compile(r"(?:^|[\s;{}/$\d!])e[ \t]+([^\n]+)")
_SED_FLAG = re.compile(r"[/|#,@:!][gpiImM\d]*+e[gpiImM\d]*+\s*+(?:[;}]|$)")  # runs the result of a substitution
_SQL_CLIENT_COMMAND = re.compile(r"\.s[hy]|[|!]|\bprogram\b", re.IGNORECASE)  # .shell, \!, \copy to program
_READ_COMMANDS = {"ed", "ex", "vi", "vim", "nvim", "at", "batch", "make", "gmake", "parallel", "crontab", "sqlite3"}
_GIT_PROGRAMS = ("-x", "--exec", "-O", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--extcmd")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_PREFIX = re.compile(r"(?:-[A-Za-z]|\.?(?:shell|system|spawn)\s|[\d,$]*e\s|:?!|\||[\w.-]+=)?[!|:\s]*")
_LITERAL_SOURCES = {"echo", "printf", "("}
_WHOLE_VARIABLE = re.compile(r"\$(?:[A-Za-z_@*\d]\w*|\{[^}]*\})")


def unwrapped_commands(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the command under its bare name, and every command that it may wrap.

    The options of wrappers differ, so each remainder of its words counts as a possible command.
    """
    words = _without_prefixes(command.words)
    yield replace(command, words=words)
    if not words:
        return
    starts: Sequence[int] = ()
    if words[0] in _WRAPPERS:
        starts = range(1, min(len(words), _MAX_WRAPPED))
    elif words[0] == "find":
        starts = [index + 1 for index, word in enumerate(words) if word in _FIND_ACTIONS][:_MAX_WRAPPED]
    elif words[0] in ("fd", "fdfind"):
        starts = [index + 1 for index, word in enumerate(words) if word in _FD_ACTIONS][:1]
    elif words[0] == "xargs":
        starts = _start_in_xargs(words)
    elif words[0] == "git" and ("foreach" in words or "run" in words):
        starts = [index + 1 for index, word in enumerate(words) if word in ("foreach", "run")][:1]
    for start in starts:
        inner = replace(command, words=_without_prefixes(words[start:]), writes=[], overwrites=[])
        yield inner
        if inner.words[:1] in (["xargs"], ["find"]) and start < _MAX_WRAPPED:
            yield from unwrapped_commands(inner)


def _start_in_xargs(words: Sequence[str]) -> list[int]:
    """Return where the command of xargs begins, as a list; empty if it has none."""
    index = 1
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in _XARGS_OPTIONS_WITH_VALUE else 1
    starts = [*range(index, min(len(words), index + _MAX_WRAPPED))] if words[index : index + 1] else []
    is_plain = not starts or words[index] not in _WRAPPERS
    return starts[:1] if is_plain else starts


def scripts_in(command: SimpleCommand) -> Iterator[str]:
    """Yield the texts that the command passes to a shell."""
    name, *arguments = command.words or [""]
    if name in _SHELLS:
        yield command.text
        if any(is_cluster_with(word, "c") for word in arguments):
            yield from arguments
        yield from piped_texts(command)
    elif name == "eval":
        yield " ".join(arguments)
    elif name == "trap":
        yield from arguments
    elif name == "alias":
        yield from (f'{word.partition("=")[2]} "$@"' for word in arguments if "=" in word)
    elif name in _WRAPPERS or name in ("xargs", "find"):
        yield from (word for word in arguments if " " in word)
    for word in _words_with_commands(name, arguments):
        pieces = [word, word.partition("!")[2], *(a or b for a, b in _QUOTED.findall(word))]
        for piece in filter(SUSPICIOUS.search, pieces):
            prefix = _PREFIX.match(piece)
            yield piece[prefix.end() :] if prefix else piece
    if name in _READ_COMMANDS:
        yield from (text.replace("!", " ") for text in (command.text, *piped_texts(command)) if SUSPICIOUS.search(text))


def piped_texts(command: SimpleCommand) -> Iterator[str]:
    """Yield what a command may read from a pipe: texts, and arguments of programs such as echo or printf."""
    source = command.piped_from
    for _ in range(_MAX_PIPED):
        if source is None:
            break
        yield source.text
        arguments = " ".join(source.words[1:])
        yield arguments.replace("\\n", "\n")
        if "\\" in arguments:
            yield unescape(arguments)
        source = source.piped_from


def texts_of(command: SimpleCommand) -> Iterator[str]:
    """Yield the text that a program such as echo or cat writes, as far as it is in the command."""
    name, *arguments = command.words or [""]
    yield command.text
    if name in ("echo", "printf"):
        text = " ".join(arguments)
        yield from (text.replace("\\n", "\n"), unescape(text))
    elif name == "tee":
        yield from piped_texts(command)


def programs_of_assignments(command: SimpleCommand) -> Iterator[str]:
    """Yield the values of variables that a command gets, or that are exported: programs may run them, as PAGER."""
    words = command.words
    end = next((index for index, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words))
    is_export = words[end : end + 1] in (["export"], ["env"], ["declare"], ["typeset"])
    assigned = words if is_export else words[:end] if end < len(words) else []
    for word in assigned:
        value = word.partition("=")[2]
        if _ASSIGNMENT.fullmatch(word) and " " in value and SUSPICIOUS.search(value):
            yield value.lstrip("|! ")


def reads_program_from_input(command: SimpleCommand) -> bool:
    """Return whether this is a shell or an interpreter that reads its program from a pipe or a substitution."""
    name, *arguments = command.words or [""]
    substituted = any(SUBSTITUTION_MARK in word for word in arguments)
    if name in ("eval", "source", "."):
        return substituted
    if name not in _SHELLS and not INTERPRETER.fullmatch(name):
        return False
    has_program = any(is_cluster_with(word, "cem") or not word.startswith("-") for word in arguments)
    is_piped = command.piped_from is not None or SUBSTITUTION_MARK in command.text
    return substituted or (is_piped and (not has_program or "-s" in arguments))


def runs_a_substitution(command: SimpleCommand) -> bool:
    """Return whether a shell gets the output of another command as its script."""
    name, *arguments = command.words or [""]
    if name in _SHELLS and any(is_cluster_with(word, "c") for word in arguments):
        return SUBSTITUTION_MARK in "".join(operands(arguments)[:1])
    return name == "eval" and SUBSTITUTION_MARK in "".join(arguments)


def reads_unknown_commands(command: SimpleCommand) -> bool:
    """Return whether a shell reads commands whose text cannot be read before they run."""
    name, *arguments = command.words or [""]
    named = operands(arguments)
    if name == "eval":
        return any(_WHOLE_VARIABLE.fullmatch(word) for word in arguments)
    if name not in _SHELLS - {"su"}:
        return name in ("source", ".") and (named[:1] == ["/dev/stdin"] or SUBSTITUTION_MARK in "".join(named[:1]))
    if any(is_cluster_with(word, "c") for word in arguments):
        return any(_WHOLE_VARIABLE.fullmatch(word) for word in named[:1])
    if named and named[0] not in ("-", "/dev/stdin") and "-s" not in arguments:
        return SUBSTITUTION_MARK in named[0]
    if command.reads:
        return command.reads[-1] != "/dev/null"
    source = command.piped_from
    if source is None or command.text:
        return False
    if source.words[0] == "printf" and "%" in source.words[1]:
        return True
    return source.words[0] not in _LITERAL_SOURCES and not (source.words[0] in ("cat", "tee") and source.text)


def runs_decoded_text(command: SimpleCommand) -> bool:
    """Return whether a program in another language runs text that it decodes or downloads."""
    name, *arguments = command.words or [""]
    if not INTERPRETER.fullmatch(name):
        return False
    return any(map(interpreted.runs_decoded_text, (*arguments, command.text)))


def script_file(command: SimpleCommand, program: str) -> str:
    """Return the file whose commands or code a command runs, or "". `program` is its first word as written."""
    name, *arguments = command.words or [""]
    if name in ("source", "."):
        return arguments[0] if arguments else ""
    if "/" in program:
        return program
    if name in ("make", "gmake"):
        return next(option_values(arguments, "-f", "--file", "--makefile"), "")
    if name in _SHELLS or INTERPRETER.fullmatch(name):
        if any(is_cluster_with(word, "cem") for word in arguments):
            return ""
        return next(iter([*operands(arguments), *command.reads]), "")
    return ""


def _words_with_commands(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments in which a program may find commands to run."""
    if name == "git":
        verb, _ = subcommand([name, *arguments])
        if verb == "config":
            yield from arguments
        yield from option_values(arguments, "-c")
        if verb not in ("commit", "tag", "log", "shortlog"):
            yield from option_values(arguments, *_GIT_PROGRAMS)
        if verb == "submodule" or verb.startswith("filter"):
            yield from arguments
    elif name in ("sed", "gsed"):
        for program in arguments:
            yield from (match[1] for match in _SED_EXECUTION.finditer(program))
            if _SED_FLAG.search(program):
                yield from re.split(r"[/|#,@:!]", program)
    elif name in ("sqlite3", "psql"):
        yield from filter(_SQL_CLIENT_COMMAND.search, arguments)
    elif _LANGUAGES.fullmatch(name) or name == "php":
        yield from arguments


def _without_prefixes(words: Sequence[str]) -> list[str]:
    """Strip leading keywords and assignments, and the folder of the program."""
    start = 0
    while start < len(words) and (words[start] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[start])):
        start += 1
    remaining = list(words[start:])
    return [posixpath.basename(remaining[0]) or remaining[0], *remaining[1:]] if remaining else []


def is_cluster_with(word: str, letters: str) -> bool:
    """Return whether `word` contains a short option out of `letters`, alone or in a cluster (-lc)."""
    return word.startswith("-") and not word.startswith("--") and any(letter in word for letter in letters)
