"""Steps that all backends share: check a command, set its environment, and run a shell with kernel limits.

The limits are set inside the sandbox, so that they apply to the command and not to the sandbox's setup.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from tools_app.errors import InvalidArguments, SandboxUnavailable, ToolError
from tools_app.files.paths import LIBRARY, VIEW
from tools_app.sandbox.base import WORKSPACE, CommandLimits, ShellCommand

MAX_TEXT = 120_000  # bytes; Linux accepts 128 KiB in one argument

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

# There is no terminal: programs must not open a pager or an editor, or ask questions.
_UNATTENDED = {
    "PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_yes": "true",
    "npm_config_update_notifier": "false",
}
# The system's packages are read-only, so pip installs into $HOME. Debian forbids that without this (PEP 668).
_INSTALLING = {"PIP_BREAK_SYSTEM_PACKAGES": "1"}
# Without a network, retries only take time: npm spent 71 s on them.
_OFFLINE = {
    "CI": "1",
    "npm_config_fetch_retries": "0",
    "PIP_RETRIES": "0",
    "CARGO_NET_RETRY": "0",
    "UV_HTTP_RETRIES": "0",
    "BUNDLE_RETRY": "0",
}

# Excludes LD_PRELOAD and the like, which would run code in the programs that set the limits.
_NAME = re.compile(r"(?!LD_|GLIBC_|MALLOC_)[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def limited_shell_argv(command: ShellCommand, *, count_processes: bool = True) -> list[str]:
    """Return a shell command line with limits, marked as the first process to kill when memory is short.

    Raises: SandboxUnavailable if util-linux is missing.
    """
    choom, prlimit = (which(name, path=PATH) for name in ("choom", "prlimit"))
    if not choom or not prlimit:
        raise SandboxUnavailable("The programs choom and prlimit are missing. Install util-linux.")
    limits = dict(kernel_limits(command.limits))
    if not count_processes:
        del limits["RLIMIT_NPROC"]
    options = [f"--{name.removeprefix('RLIMIT_').lower()}={limit}" for name, limit in limits.items()]
    return [choom, "-n", "1000", "--", prlimit, *options, "--", *shell_argv(command)]


def shell_argv(command: ShellCommand) -> list[str]:
    """Return the command line of bash, or of sh if there is no bash."""
    return [which("bash", path=PATH) or "/bin/sh", "-c", "--", command.text]


def kernel_limits(limits: CommandLimits) -> dict[str, int]:
    """Return the limits by their names in the module `resource`.

    Memory is RLIMIT_DATA, not the address space: Node.js and Java reserve far more addresses than they use.
    """
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": limits.processor_s,
        "RLIMIT_DATA": limits.memory,
        "RLIMIT_FSIZE": limits.file_size,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": limits.processes,
    }


def check_command(command: ShellCommand) -> None:
    """Check that a sandbox can run the command.

    Raises: ToolError if none can.
    """
    try:
        text = os.fsencode(command.text)
    except UnicodeEncodeError as error:
        raise InvalidArguments("The command contains an incomplete character. Send it again.") from error
    if b"\0" in text:
        raise InvalidArguments("The command contains a NUL character. Write such bytes as an escape, like '\\0'.")
    if len(text) > MAX_TEXT:
        raise InvalidArguments("The command is too long. Write a script with the tool file, and run that.")


def command_environment(command: ShellCommand, *, home: str, has_network: bool, path: str = PATH) -> dict[str, str]:
    """Return the environment variables of a command.

    Raises: ToolError for an invalid name or value.
    """
    for name, value in command.environment.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise ToolError(f"{name!r} cannot be set as an environment variable.")
    programs = [str(layer.mount / "bin") for layer in command.layers]
    variables = {
        "PATH": ":".join([f"{home}/.local/bin", *programs, path]),
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TZ": command.time_zone,
        "npm_config_prefix": f"{home}/.local",  # of `npm install --global`
        **_UNATTENDED,
        **_INSTALLING,
    }
    if not has_network:
        variables |= _OFFLINE
    if command.proxy_access:
        variables |= command.proxy_access.environment
    return variables | dict(command.environment)


def view_mounts(command: ShellCommand) -> Iterator[tuple[Path, str]]:
    """Yield each read-only folder with its mount point."""
    mount = WORKSPACE
    for view in command.views:
        mount = f"{mount}/{VIEW}"
        yield view, mount
    if command.library:
        yield command.library, f"{WORKSPACE}/{LIBRARY}"
