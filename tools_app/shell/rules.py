"""Rules that make a simple command dangerous. Their texts are shown to the person who is asked for approval."""

import posixpath
import re
from collections.abc import Callable, Sequence

from tools_app.sandbox.base import TEMPORARY, WORKSPACE
from tools_app.shell.git import subcommand
from tools_app.shell.interpreted import INTERPRETER
from tools_app.shell.options import has_option, operands
from tools_app.shell.script import SimpleCommand
from tools_app.shell.shell_state import ShellState

_HARMLESS_DEVICES = re.compile(r"/dev/(null|zero|full|tty|stdin|stdout|stderr|fd/\d+|shm/.+)")
_SQL_DROP = re.compile(r"\bdrop\s+(table|database|schema)\b|\btruncate\s+table\b|\bdropDatabase\b", re.IGNORECASE)
_SQL_DELETION = re.compile(
    r"\bdelete\s+from\s+[\w.\"`\[\]]{1,200}\s*+(?![\s\w])|\btruncate\s+\w|\bdrop\s+\w|\.drop\("
    r"|\bupdate\s+[\w.\"`\[\]]{1,200}+\s+set\b(?![^;]{0,1000}\bwhere\b)|\bdeleteMany\(\s*\{\s*\}",
    re.IGNORECASE,
)
_SQL_CLIENTS = {
    *("psql", "pgcli", "mysql", "mariadb", "mycli", "sqlite3", "duckdb", "sqlcmd", "clickhouse-client", "mongosh"),
    *("mongo", "cockroach", "usql", "cqlsh"),
}

_SQL_CALL = re.compile(r"execute|query|\.exec\b|\.run\b|\.prepare\b|\bsql\b", re.IGNORECASE)
_SQL_VALUE = re.compile(r"(?:=|\blike\b)\s*+'[^']*'", re.IGNORECASE)
_FILE_DATABASES = {"sqlite3", "duckdb"}
_OTHER_DATABASE = re.compile(r"\battach\b|\.(?:open|read|restore)\b", re.IGNORECASE)
_TEXT_PROGRAMS = {"git", "sed", "gsed", "awk", "gawk", "jq", "pytest"}
_SEARCHES = {"grep", "egrep", "fgrep", "rg", "ag", "ack"}
_POWER_COMMANDS = {"shutdown", "reboot", "halt", "poweroff", "telinit"}
_WRITES_LAST_ARGUMENT = {"cp", "mv", "install", "ln"}
_WRITES_EACH_ARGUMENT = {"tee", "touch", "mkdir", "rm", "rmdir", "unlink", "truncate", "chmod", "chown", "chgrp"}
_EVERY_PROCESS = {"", ".", ".*", "*", "^", ".+"}
# Programs that manage services, and the words after which something stored there is gone.
SERVICE_DELETIONS: dict[str, frozenset[str]] = {
    "redis-cli": frozenset({"flushall", "flushdb", "del", "unlink"}),
    **dict.fromkeys(("terraform", "tofu"), frozenset({"destroy", "-destroy"})),
    "pulumi": frozenset({"destroy", "down"}),
    "aws": frozenset({"rm", "rb", "delete", "terminate", "purge", "--delete"}),
    **dict.fromkeys(("gsutil", "s3cmd", "mc"), frozenset({"rm", "rb", "del"})),
    **dict.fromkeys(
        ("gcloud", "az", "doctl", "vault", "etcdctl"), frozenset({"delete", "rm", "del", "purge", "destroy"})
    ),
    "kubectl": frozenset({"delete", "drain"}),
    "helm": frozenset({"uninstall", "delete"}),
    **dict.fromkeys(("heroku", "fly", "flyctl", "vercel"), frozenset({"destroy", "reset", "delete", "rm", "remove"})),
    "gh": frozenset({"delete"}),
    "npm": frozenset({"unpublish"}),
    "rclone": frozenset({"purge", "delete", "deletefile", "sync", "cleanup"}),
    **dict.fromkeys(("docker", "podman"), frozenset({"prune"})),
}
_OWN_SERVER = re.compile(r"(https?://)?(localhost|127\.0\.0\.1|0\.0\.0\.0|sandbox)(?![\w.-]).*")


def rules_of(command: SimpleCommand, state: ShellState) -> list[str]:
    """Return the texts of all rules that apply. The first word of `command` is the program's bare name."""
    rules = [rule for rule, check in _CHECKS_BY_RULE.items() if check(command)]
    return [*rules, OUTSIDE] if _writes_outside(command, state) else rules


OUTSIDE = "writes outside of the workspace"


def _forces_a_push(command: SimpleCommand) -> bool:
    verb, arguments = subcommand(command.words)
    if verb != "push":
        return False
    forced = has_option(arguments, "f", "--force") or any(word.startswith("--force-") for word in arguments)
    deletes = has_option(arguments, "d", "--delete") or "--mirror" in arguments or "--prune" in arguments
    return forced or deletes or any(word[:1] in ("+", ":") for word in arguments)


def _deletes_in_a_service(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name in ("docker", "podman", "docker-compose"):
        named = [word for word in arguments if word not in ("compose", "container", "image")]
        is_down = named[:1] == ["down"] and (has_option(arguments, "v", "--volumes"))
        is_removal = named[:1] in (["rm"], ["rmi"]) and has_option(arguments, "f", "--force")
        if is_down or is_removal or (named[:1] == ["volume"] and "rm" in named):
            return True
    if name in ("curl", "http", "xh"):
        deletes = any(word in ("DELETE", "-XDELETE", "--request=DELETE") for word in arguments)
        addresses = [word for word in operands(arguments) if "/" in word or ":" in word]
        return deletes and not (addresses and all(map(_OWN_SERVER.fullmatch, addresses)))
    words = SERVICE_DELETIONS.get(name, frozenset())
    parts = (part for word in arguments for part in (word, word.partition("-")[0], word.rpartition(":")[2]))
    return any(part.lower() in words for part in parts)


def _destroys_a_device(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name.startswith("mkfs") or name in ("shred", "wipefs", "mke2fs", "blkdiscard"):
        return True
    targets = arguments if name in ("truncate", "tee", "cp", "mv") else _outputs_of_dd(command)
    return any(_is_device(target) for target in (*targets, *command.writes))


def _changes_system_permissions(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    recursive = has_option(arguments, "R", "--recursive")
    return name in ("chmod", "chown", "chgrp") and recursive and any(is_outside(word) for word in arguments)


def _kills_all_processes(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name in ("pkill", "killall"):
        return any(word in _EVERY_PROCESS for word in arguments)
    ends_first = name == "kill" and operands(arguments) == ["1"] and "-0" not in arguments
    return name == "killall5" or ends_first or (name == "kill" and "-1" in arguments[1:])


def _shuts_down(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    if name == "init":
        return arguments[:1] in (["0"], ["6"])
    return name in _POWER_COMMANDS or (name == "systemctl" and any(word in _POWER_COMMANDS for word in arguments))


def _changes_schedule(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    return name == "crontab" and "-l" not in arguments


def _drops_data(command: SimpleCommand) -> bool:
    name, *arguments = command.words or [""]
    is_only_text = name in _TEXT_PROGRAMS or (name in ("echo", "printf") and not command.runs_aside)
    if name in _SEARCHES or is_only_text:
        return False
    reads = "" if name in ("cat", "tee") else command.text
    text = f"{' '.join(arguments)} {reads}"
    piped = command.piped_from.words[-1] + command.piped_from.text if command.piped_from else ""
    if INTERPRETER.fullmatch(name) and _SQL_CALL.search(text + piped):
        if text.count("connect(") == text.count(":memory:") > 0:
            return False
    elif name not in _SQL_CLIENTS:
        recreates = name == "pg_restore" and has_option(arguments, "c", "--clean")
        return name == "dropdb" or recreates or bool(_SQL_DROP.search(text))
    beginning, *others = f"{text} {piped}".split("/*")
    statements = " ".join([beginning, *(other.partition("*/")[2] for other in others)])
    if name in _FILE_DATABASES and _is_scratch(arguments) and not _OTHER_DATABASE.search(statements):
        return False
    if name in _SQL_CLIENTS:
        statements = _SQL_VALUE.sub("''", statements)
    return bool(_SQL_DELETION.search(statements) or _SQL_DROP.search(statements))


def _is_scratch(arguments: Sequence[str]) -> bool:
    """Return whether a database is in memory, a temporary file, or opened for reading only."""
    database = next(iter(operands(arguments)), ":memory:")
    is_temporary = _normalized(database).startswith(f"{TEMPORARY}/")
    return database == ":memory:" or is_temporary or "-readonly" in arguments


_CHECKS_BY_RULE: dict[str, Callable[[SimpleCommand], bool]] = {
    "overwrites or deletes what a remote repository has": _forces_a_push,
    "deletes what a service holds": _deletes_in_a_service,
    "destroys data on a device": _destroys_a_device,
    "changes rights or owners outside of the workspace": _changes_system_permissions,
    "ends every process": _kills_all_processes,
    "turns the machine off": _shuts_down,
    "changes the programs that run at set times": _changes_schedule,
    "drops a table or a database": _drops_data,
}


def _writes_outside(command: SimpleCommand, state: ShellState) -> bool:
    name, *arguments = command.words or [""]
    named = [word for word in arguments if not word.startswith("-")]
    targets = [*command.writes, *_outputs_of_dd(command)]
    if name in _WRITES_EACH_ARGUMENT:
        targets += named
    elif name in _WRITES_LAST_ARGUMENT:
        targets += named[-1:]
    folders: Sequence[str] = [*state.folders] if state.folders is not None else []
    return any(
        not _is_device(path) and any(is_outside(path, folder) for folder in folders or [WORKSPACE])
        for target in targets
        if folders or target.startswith("/")
        for path in state.with_set_variables().expand(target) or [target]
    )


def _outputs_of_dd(command: SimpleCommand) -> list[str]:
    name, *arguments = command.words or [""]
    return [word.removeprefix("of=") for word in arguments if name == "dd" and word.startswith("of=")]


def _is_device(path: str) -> bool:
    return _normalized(path).startswith("/dev/") and not _HARMLESS_DEVICES.fullmatch(_normalized(path))


def is_outside(path: str, folder: str = WORKSPACE) -> bool:
    """Return whether a path certainly leads out of the workspace and the folder of temporary files."""
    if path.startswith(("$", "~")):
        return False
    absolute = _normalized(path, folder)
    inside = any(absolute == parent or absolute.startswith(f"{parent}/") for parent in (WORKSPACE, TEMPORARY))
    return not inside and not _HARMLESS_DEVICES.fullmatch(absolute)


def _normalized(path: str, folder: str = WORKSPACE) -> str:
    return posixpath.normpath(posixpath.join(folder, path)).replace("//", "/")
