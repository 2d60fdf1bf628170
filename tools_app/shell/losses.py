"""The files that a simple command deletes or overwrites, by the operands of the usual programs."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tools_app.shell import interpreted
from tools_app.shell.git import subcommand
from tools_app.shell.options import has_option, operands, option_values
from tools_app.shell.script import SUBSTITUTION_MARK, SimpleCommand

DELETES_FOLDER = "deletes a folder with everything in it"
DELETES_MANY = "deletes many files at once"
DELETES = "deletes what the file history does not keep"
OVERWRITES = "overwrites what the file history does not keep"
MOVES_AWAY = "moves what the file history does not keep out of the workspace"
LOCKS = "takes away the rights to what the file history does not keep"

_AGAIN = ("xargs", "parallel", "fd", "fdfind")  # they run a command with operands that they read
_FIND_OUTPUTS = ("-fprint", "-fprint0", "-fprintf", "-fls")
_FIND_ENDS = (";", "+")  # of a command within find
_OTHER_ROOTS = {"-L", "-H", "-follow", "-files0-from"}  # options of find
_ALTERNATIVES = {"-o", "-or"}  # of find
_NEGATIONS = {"!", "-not"}
# Patterns of names that files in a folder of git may have.
_GIT_NAME = re.compile(r"[\w*?-]*|.*(?:[*?\]]|\.(?:pack|idx|rev|lock|sample|bitmap|keep))")
_LETTERS = re.compile(r"\[(\w+)\]")
_OUTSIDE_GIT = re.compile(r"(?:\./|\*/|\*)?\.git/\*")
_SEARCHES = {"grep", "egrep", "fgrep", "rg", "ag", "ack"}
_EDITORS_IN_PLACE = {"sed", "gsed", "perl", "ruby"}
_EDITORS = {"ed", "ex", "vi", "vim", "nvim"}
_ARCHIVED_AWAY = {"--remove-files", "-sdel", "--move"}
_AWK = re.compile(r"[gmn]?awk")
_AWK_OUTPUT = re.compile(r">\s*\"([^\"\n]{1,500})\"")
_SQLITE_OUTPUT = re.compile(r"\.(?:backup|save|output|once|clone)\s+(?:main\s+)?['\"]?([^\s'\"]{1,500})")
_SED_OUTPUT = re.compile(r"(?<![\w/.-])w\s([^\s;}]{1,500})")


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Files that a command may lose: its `operands`, and with `is_tree` everything below them.

    With `names`, patterns, only files of these names count. Files that move to a `target` in the workspace are no
    loss. `skips_git` leaves out the folders of git.
    """

    rule: str
    operands: Sequence[str]
    is_tree: bool = False
    names: Sequence[str] = ()
    target: str = ""
    skips_git: bool = False


def losses_of(command: SimpleCommand, outer: SimpleCommand) -> list[Loss]:
    """Return all losses. The first word of `command` is the program's bare name; `outer` is the command as written."""
    prefix = [posixpath.basename(word) for word in outer.words[: len(outer.words) - len(command.words)]]
    if "find" in prefix:
        ends = [index for index, word in enumerate(command.words) if word in _FIND_ENDS]
        command = replace(command, words=command.words[: ends[0]] if ends else command.words)
    losses = [*_losses_by_program(command), *_losses_by_code(command)]
    paths = [*command.overwrites, *(path for path in command.writes if ".git/" in path)]
    losses += [Loss(rule=OVERWRITES, operands=[path]) for path in paths]
    if "find" in prefix:
        return [_with_files(loss, outer.words[prefix.index("find") + 1 :]) for loss in losses]
    if any(name in prefix for name in _AGAIN):
        source = outer.piped_from.words if outer.piped_from else ["", ""]
        arguments = source[1].split()
        if source[0] == "find":
            found = [(loss, _found(_rule_of_many(loss), arguments)) for loss in losses]
            return [replace(new, operands=[*old.operands, *new.operands]) for old, new in found]
        names = _listed_names(source[0], arguments)
        return [replace(_with_read_operands(loss, outer.words, is_tree=bool(names)), names=names) for loss in losses]
    return losses


def _listed_names(name: str, arguments: Sequence[str]) -> list[str]:
    """Return the patterns of the names that a program lists, such as `git ls-files` or `grep -l`; none if unknown."""
    if name in _SEARCHES:
        return list(option_values(arguments, "--include", "-g", "--glob"))
    verb, arguments = subcommand([name, *arguments])
    paths = (
        operands(arguments)
        if verb == "ls-files"
        else arguments[arguments.index("--") + 1 :]
        if "--" in arguments
        else []
    )
    are_names = verb in ("ls-files", "grep") and all(path.startswith("*.") and "/" not in path for path in paths)
    return paths if are_names else []


def _with_read_operands(loss: Loss, words: Sequence[str], *, is_tree: bool) -> Loss:
    """Return the loss of a command that gets further operands at run time, at its end or in place of a mark."""
    mark = next(option_values(words, "-I", "--replace"), "{}")
    operands = [word.replace(mark, SUBSTITUTION_MARK) for word in loss.operands]
    return replace(
        loss,
        rule=_rule_of_many(loss),
        operands=operands if operands != loss.operands else [*operands, SUBSTITUTION_MARK],
        is_tree=is_tree or loss.rule not in (OVERWRITES, MOVES_AWAY),
    )


def _with_files(loss: Loss, arguments: Sequence[str]) -> Loss:
    """Return the loss of a command that find runs on the files that it finds."""
    others = [word for word in loss.operands if "{}" not in word]
    if len(others) == len(loss.operands):
        return loss
    return replace(_found(_rule_of_many(loss), arguments), operands=[*others, *_roots(arguments)])


def _rule_of_many(loss: Loss) -> str:
    return DELETES_MANY if loss.rule == DELETES else loss.rule


def _found(rule: str, arguments: Sequence[str]) -> Loss:
    """Return the loss of all files that find finds."""
    excluded = (arguments[index + 1] for index, word in enumerate(arguments[:-1]) if word in ("-path", "-wholename"))
    return Loss(
        rule=rule,
        operands=_roots(arguments),
        is_tree=True,
        names=_found_names(arguments),
        skips_git=not {*_ALTERNATIVES, ","} & {*arguments} and any(map(_OUTSIDE_GIT.fullmatch, excluded)),
    )


def _found_names(arguments: Sequence[str]) -> list[str]:
    """Return the patterns of names that find has, one for each alternative at least; none if some file needs none."""
    names: list[str] = []
    has_name = False
    for before, word, after in zip(["", *arguments], arguments, arguments[1:], strict=False):
        if word in (",", "-regex") or (word in _NEGATIONS and after == "(") or (word in _ALTERNATIVES and not has_name):
            return []
        if word in _ALTERNATIVES:
            has_name = False
        elif word in ("-name", "-iname") and before not in _NEGATIONS:
            names.append(after)
            has_name = True
    return names if has_name else []


def can_be_in_git(names: Sequence[str]) -> bool:
    """Return whether patterns of names may match files in a folder of git."""
    letters = ((name, _LETTERS.search(name)) for name in names)
    variants = (name.replace(m[0], letter) if m else name for name, m in letters for letter in (m[1] if m else "-"))
    return any(map(_GIT_NAME.fullmatch, variants))


def _roots(arguments: Sequence[str]) -> list[str]:
    """Return the folders that find searches."""
    if _OTHER_ROOTS & {*arguments}:
        return [SUBSTITUTION_MARK]
    end = next((n for n, word in enumerate(arguments) if word.startswith(("-", "(", "!"))), len(arguments))
    return list(arguments[:end]) or ["."]


def _losses_by_code(command: SimpleCommand) -> Iterator[Loss]:
    """Yield the losses by programs in other languages, which a command has as arguments or reads."""
    name, *arguments = command.words or [""]
    if not interpreted.INTERPRETER.fullmatch(name):
        return
    source = command.piped_from.words[-1:] if command.piped_from else []
    programs = [*arguments, command.text, *source]
    is_inline = not arguments or (arguments[0].startswith("-") and arguments[0] != "-m")
    runs_commands = not is_inline or any(map(interpreted.runs_commands, programs))
    for program in programs:
        for deletion in interpreted.deletions(program, runs_commands=runs_commands):
            rule = DELETES_FOLDER if deletion.is_folder else DELETES
            is_tree = deletion.is_folder or not deletion.paths
            yield Loss(rule=rule, operands=deletion.paths or [SUBSTITUTION_MARK], is_tree=is_tree)
        if paths := interpreted.overwritten(program):
            yield Loss(rule=OVERWRITES, operands=paths)
        for path, target in interpreted.moved(program):
            yield Loss(rule=MOVES_AWAY, operands=[path], is_tree=True, target=target)


def _losses_by_program(command: SimpleCommand) -> Iterator[Loss]:
    name, *arguments = command.words or [""]
    if name == "git":
        yield from _losses_by_git(command)
    elif name == "rsync" and not has_option(arguments, "n", "--dry-run"):
        yield from _losses_by_rsync(arguments, operands(arguments))
    elif name in ("mv", "cp", "install", "ln"):
        yield from _losses_by_copy(name, arguments, operands(arguments))
    elif (paths := _overwritten(name, arguments)) is not None:
        yield Loss(rule=OVERWRITES, operands=paths)
    elif name == "chmod" and has_option(arguments, "R", "--recursive"):
        if any(map(_locks, arguments)):
            yield Loss(rule=LOCKS, operands=operands(arguments), is_tree=True)
    else:
        yield from _deletions(name, arguments, operands(arguments))


def _locks(mode: str) -> bool:
    """Return whether a mode of chmod takes the right to read or write from the owner."""
    if mode.isdigit():
        return mode.zfill(3)[-3] < "6"
    clauses = (re.fullmatch(r"([ugoa]*+)([-=])([rwxX]*+)", clause) for clause in mode.split(","))
    of_owner = [clause for clause in clauses if clause and (not clause[1] or {"u", "a"} & {*clause[1]})]
    return any(({"r", "w"} & {*clause[3]}) if clause[2] == "-" else "w" not in clause[3] for clause in of_owner)


def _deletions(name: str, arguments: Sequence[str], named: Sequence[str]) -> Iterator[Loss]:
    match name:
        case "rm":
            is_tree = has_option(arguments, "r", "--recursive") or has_option(arguments, "R")
            is_all = any(posixpath.basename(word) in ("*", ".*", "*.*") for word in named)
            rule = DELETES_FOLDER if is_tree else DELETES_MANY if is_all else DELETES
            yield Loss(rule=rule, operands=named, is_tree=is_tree)
        case "unlink" | "shred" | "wipe" | "srm":
            yield Loss(rule=DELETES, operands=named)
        case "find":
            if "-delete" in arguments:
                yield _found(DELETES_MANY, arguments)
            if paths := [*option_values(arguments, *_FIND_OUTPUTS)]:
                yield Loss(rule=OVERWRITES, operands=paths)
        case "rclone" if named[:1] in (["sync"], ["move"]):
            yield Loss(rule=DELETES_FOLDER, operands=named[1:], is_tree=True)
        case "tar" | "7z" | "zip" if _ARCHIVED_AWAY & {*arguments} or (name == "zip" and has_option(arguments, "m")):
            yield Loss(rule=DELETES_FOLDER, operands=named, is_tree=True)


def _overwritten(name: str, arguments: Sequence[str]) -> list[str] | None:
    """Return the files that a program overwrites; None if it overwrites none."""
    named = operands(arguments)
    if (
        name in ("truncate", "sponge")
        or name in _EDITORS
        or (name == "tee" and not has_option(arguments, "a", "--append"))
    ):
        return named
    if name == "ffmpeg":
        return named[-1:]
    if name == "dd":
        return [word[3:] for word in arguments if word.startswith("of=")]
    if name in _EDITORS_IN_PLACE and has_option(arguments, "i", "--in-place"):
        return _edited_files(arguments)
    if name in ("sed", "gsed", "sqlite3") or _AWK.fullmatch(name):
        pattern = _SED_OUTPUT if "sed" in name else _SQLITE_OUTPUT if name == "sqlite3" else _AWK_OUTPUT
        paths = [match[1] for program in arguments for match in pattern.finditer(program)]
        return paths + (named if "inplace" in arguments else []) or None
    if name == "tar" and arguments and "c" in arguments[0] and not _ARCHIVED_AWAY & {*arguments}:
        return [next(option_values(arguments, "-f", "--file"), "".join(named[1:2]))]
    if name in _SEARCHES or name == "find":
        return None
    return [*option_values(arguments, "-o", "-O", "-out", "--output", "--output-document")] or None


def _edited_files(arguments: Sequence[str]) -> list[str]:
    """Return the files among the arguments of sed or perl, without the script."""
    scripts = [
        index + 1 for index, word in enumerate(arguments) if re.fullmatch(r"-\w*[eEf]|--expression|--file", word)
    ]
    files = operands([word for index, word in enumerate(arguments) if index not in scripts])
    return files if scripts or any(word.startswith("--expression=") for word in arguments) else files[1:]


def _losses_by_copy(name: str, arguments: Sequence[str], named: Sequence[str]) -> Iterator[Loss]:
    """Yield the losses of programs whose last operand, or option -t, is the target."""
    if "-n" in arguments or "--no-clobber" in arguments or (name == "ln" and not has_option(arguments, "f", "--force")):
        sources, target = named[:-1], named[-1] if named else ""
        targets = [target] if ".git/" in target else []
    else:
        folder = next(option_values(arguments, "-t", "--target-directory"), "")
        target = folder or (named[-1] if len(named) > 1 else "")
        sources = [word for word in named if word != folder] if folder else named[:-1]
        targets = [target, *(f"{target}/{posixpath.basename(source.rstrip('/'))}" for source in sources)]
    yield Loss(rule=OVERWRITES, operands=[path for path in targets if path])
    if name == "mv":
        yield Loss(rule=MOVES_AWAY, operands=sources, is_tree=True, target=target)


def _losses_by_rsync(arguments: Sequence[str], named: Sequence[str]) -> Iterator[Loss]:
    yield from _losses_by_copy("rsync", arguments, named)
    if any(word.startswith("--del") for word in arguments):
        yield Loss(rule=DELETES_FOLDER, operands=named[-1:], is_tree=True)
    if "--remove-source-files" in arguments:
        yield Loss(rule=MOVES_AWAY, operands=named[:-1], is_tree=True, target=named[-1] if named else "")


def _losses_by_git(command: SimpleCommand) -> Iterator[Loss]:
    verb, arguments = subcommand(command.words)
    if verb == "rm" and not has_option(arguments, "n", "--dry-run") and not has_option(arguments, "", "--cached"):
        is_tree = has_option(arguments, "r")
        yield Loss(rule=DELETES_FOLDER if is_tree else DELETES, operands=operands(arguments), is_tree=is_tree)
