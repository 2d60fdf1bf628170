"""Commands as plain processes of this machine, for a server with a single user."""

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

_commands: dict[int, str] = {}  # the pids of those that run, and their sessions


class Local:
    """No isolation. As root it still gives up root, and limits hold in every case."""

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
                # The kernel counts processes per user: this limit works only for a uid that has no other processes.
                words=limited_shell(command, count_processes=command.owner is not None),
                environment=environment(_as_it_is_here(command), home=str(home)),
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
    """Nothing is mounted: layers are used where they lie. And no proxy is before the network."""
    layers = tuple(Layer(folder=it.folder, mount=it.folder) for it in command.layers)
    return replace(command, layers=layers, outlet=None)


def listens(session: str, port: int) -> bool:
    """Whether a command of the session listens on `port` of this machine; no other port is its own."""
    names = {f"socket:[{inode}]" for inode in _listeners(port)}
    pids = [each for pid, owner in list(_commands.items()) if owner == session for each in descendants(pid)]
    return bool(names) and any(names & _descriptors(pid) for pid in pids)


def _listeners(port: int) -> Iterator[str]:
    """Inodes of the sockets that listen there (proc(5), /proc/net/tcp; state 0A)."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[1].endswith(f":{port:04X}"):
                yield words[9]


def _descriptors(pid: int) -> set[str]:
    with suppress(OSError):  # it has just exited
        return {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
    return set()
