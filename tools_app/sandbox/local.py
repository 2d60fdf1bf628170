"""The local backend: plain processes of this machine, for a server with a single user."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tools_app.files import Owner
from tools_app.sandbox.base import CommandOutcome, Layer, ProcessIdentity, ShellCommand
from tools_app.sandbox.memory import descendants
from tools_app.sandbox.probe import probe_failure
from tools_app.sandbox.program import ProcessSpec
from tools_app.sandbox.shell_command import check_command, command_environment, limited_shell_argv
from tools_app.sandbox.supervision import supervise

_commands: dict[int, str] = {}  # pid → session of the running commands
_MAX_TABLE = 1_000_000  # characters read of a table of sockets, which programs can fill


class Local:
    """A backend without isolation. It still applies limits, and drops root if the server has it."""

    name: ClassVar[str] = "local"
    weakness: ClassVar[str] = (
        "Commands can use the network and every file that their user may read or write, "
        "and a process that leaves its group outlives its command."
    )

    def probe(self) -> str:
        return probe_failure(self)

    async def run(
        self, command: ShellCommand, *, on_output: Callable[[str], None], on_start: Callable[[ProcessIdentity], None]
    ) -> CommandOutcome:
        check_command(command)
        # Layers are used at their own path, because nothing is mounted. There is no proxy in front of the network.
        layers = tuple(Layer(folder=layer.folder, mount=layer.folder) for layer in command.layers)
        unmounted = replace(command, layers=layers, proxy_access=None)
        with ExitStack() as stack:
            home = command.home or self._temporary_home(command.owner, stack)
            program = ProcessSpec(
                # The kernel counts processes per user, so this limit only works for a uid without other processes.
                argv=limited_shell_argv(command, count_processes=command.owner is not None),
                environment=command_environment(unmounted, home=str(home), has_network=True),
                directory=command.workspace,
                owner=command.owner,
                stdin=command.stdin,
            )
            running = program.start()
            _commands[running.pid] = command.session
            stack.callback(_commands.pop, running.pid)
            return await supervise(
                running,
                command.limits,
                folders=[command.workspace, home],
                on_output=on_output,
                on_start=on_start,
            )

    @staticmethod
    def _temporary_home(owner: Owner | None, stack: ExitStack) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="sandbox-home-", ignore_cleanup_errors=True)
        home = Path(stack.enter_context(folder))
        if owner:
            os.chown(home, *owner)
        return home


def is_listening(session: str, port: int) -> bool:
    """Return whether a command of the session listens on `port` of this machine."""
    return port in listening_ports(session)


def listening_ports(session: str) -> set[int]:
    """Return the ports of this machine that commands of the session listen on."""
    pids = [member for pid, owner in list(_commands.items()) if owner == session for member in descendants(pid)]
    sockets = {name for pid in pids for name in _descriptor_targets(pid)}
    if not sockets:
        return set()
    return {port for port, inode in listening_sockets(Path("/proc/net")) if f"socket:[{inode}]" in sockets}


def listening_sockets(net: Path) -> Iterator[tuple[int, str]]:
    """Yield port and inode of each listening TCP socket in the tables below `net` (proc(5), state 0A)."""
    for name in ("tcp", "tcp6"):
        text = ""
        with suppress(OSError), (net / name).open() as table:  # no IPv6 in the kernel, or the process has just exited
            text = table.read(_MAX_TABLE)
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == "0A":
                yield int(fields[1].rpartition(":")[2], 16), fields[9]


def _descriptor_targets(pid: int) -> set[str]:
    with suppress(OSError):  # the process has just exited
        return {os.readlink(descriptor) for descriptor in Path(f"/proc/{pid}/fd").iterdir()}
    return set()
