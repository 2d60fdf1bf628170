"""The local backend: plain processes of this machine, for a server with a single user."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from tools_app.files import Owner
from tools_app.sandbox.base import Command, Layer, Outcome, Started
from tools_app.sandbox.memory import descendants
from tools_app.sandbox.probe import reason_against
from tools_app.sandbox.program import Program
from tools_app.sandbox.shell_command import check, environment, limited_shell
from tools_app.sandbox.supervision import supervise

_commands: dict[int, str] = {}  # pid → session of the running commands
_MOST_OF_TABLE = 1_000_000  # characters read of a table of sockets, which programs can fill


class Local:
    """A backend without isolation. It still applies limits, and drops root if the server has it."""

    name: ClassVar[str] = "local"
    weakness: ClassVar[str] = (
        "Commands can use the network and every file that their user may read or write, "
        "and a process that leaves its group outlives its command."
    )

    def probe(self) -> str:
        return reason_against(self)

    async def run(
        self, command: Command, *, on_output: Callable[[str], None], on_start: Callable[[Started], None]
    ) -> Outcome:
        check(command)
        with ExitStack() as ends:
            home = command.home or self._temporary_home(command.owner, ends)
            program = Program(
                # The kernel counts processes per user, so this limit only works for a uid without other processes.
                words=limited_shell(command, count_processes=command.owner is not None),
                environment=environment(_as_it_is_here(command), home=str(home), has_network=True),
                directory=command.workspace,
                owner=command.owner,
                stdin=command.stdin,
            )
            running = program.start()
            _commands[running.pid] = command.session
            ends.callback(_commands.pop, running.pid)
            return await supervise(
                running,
                command.limits,
                folders=[command.workspace, home],
                on_output=on_output,
                on_start=on_start,
            )

    @staticmethod
    def _temporary_home(owner: Owner | None, ends: ExitStack) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="sandbox-home-", ignore_cleanup_errors=True)
        home = Path(ends.enter_context(folder))
        if owner:
            os.chown(home, *owner)
        return home


def _as_it_is_here(command: Command) -> Command:
    """Return the command as it runs without mounts: layers at their real path, and no proxy."""
    layers = tuple(Layer(folder=it.folder, mount=it.folder) for it in command.layers)
    return replace(command, layers=layers, outlet=None)


def listens(session: str, port: int) -> bool:
    """Return whether a command of the session listens on `port` of this machine."""
    return port in listening(session)


def listening(session: str) -> set[int]:
    """Return the ports of this machine that commands of the session listen on."""
    pids = [each for pid, owner in list(_commands.items()) if owner == session for each in descendants(pid)]
    own = {name for pid in pids for name in _descriptors(pid)}
    return {port for port, inode in listeners(Path("/proc/net")) if f"socket:[{inode}]" in own} if own else set()


def listeners(net: Path) -> Iterator[tuple[int, str]]:
    """Yield port and inode of each listening TCP socket in the tables below `net` (proc(5), state 0A)."""
    for name in ("tcp", "tcp6"):
        text = ""
        with suppress(OSError), (net / name).open() as table:  # no IPv6 in the kernel, or the process has just exited
            text = table.read(_MOST_OF_TABLE)
        for line in text.splitlines()[1:]:
            words = line.split()
            if len(words) > 9 and words[3] == "0A":
                yield int(words[1].rpartition(":")[2], 16), words[9]


def _descriptors(pid: int) -> set[str]:
    with suppress(OSError):  # the process has just exited
        return {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
    return set()
