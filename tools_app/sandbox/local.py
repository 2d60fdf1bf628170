"""Commands as plain processes of this machine, for a server with a single user."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from tools_app.sandbox.base import Command, Layer, Outcome, Started
from tools_app.sandbox.probe import reason_against
from tools_app.sandbox.program import Program
from tools_app.sandbox.shell_command import check, environment, limited_shell
from tools_app.sandbox.supervision import supervise


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
        owner = command.owner
        with tempfile.TemporaryDirectory(prefix="sandbox-home-", ignore_cleanup_errors=True) as home:
            if owner:
                os.chown(home, *owner)
            program = Program(
                # The kernel counts processes per user: this limit works only for a uid that has no other processes.
                words=limited_shell(command, count_processes=owner is not None),
                environment=environment(_with_layers_in_place(command), home=home),
                directory=command.workspace,
                owner=owner,
                stdin=command.stdin,
            )
            return await supervise(
                program, command.limits, workspace=command.workspace, on_output=on_output, on_start=on_start
            )


def _with_layers_in_place(command: Command) -> Command:
    """Nothing is mounted here: layers are used where they lie."""
    return replace(command, layers=tuple(Layer(folder=it.folder, mount=it.folder) for it in command.layers))
