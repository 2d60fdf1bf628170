"""The Docker backend (docs.docker.com/reference/cli/docker/container/run)."""

import asyncio
import os
import shlex
import uuid
from collections.abc import Callable
from shutil import which
from subprocess import DEVNULL
from typing import ClassVar

from tools_app.errors import SandboxUnavailable, ToolError
from tools_app.sandbox.base import TEMPORARY, WORKSPACE, CommandLimits, CommandOutcome, ProcessIdentity, ShellCommand
from tools_app.sandbox.probe import probe_failure
from tools_app.sandbox.program import MemoryFiles, ProcessSpec
from tools_app.sandbox.shell_command import PATH, check_command, command_environment, view_mounts
from tools_app.sandbox.supervision import supervise

_HOME = "/home/agent"
IMAGE = "python:3-slim"  # any image with sh and coreutils works

_ISOLATION = (
    *("--rm", "--interactive", "--init", "--pull=never", "--log-driver=none", "--network=none", "--read-only"),
    *("--cap-drop=ALL", "--security-opt=no-new-privileges", "--hostname=sandbox", f"--workdir={WORKSPACE}"),
)


class Docker:
    """A backend that starts one container for each command, from an image that the machine already has."""

    name: ClassVar[str] = "docker"
    weakness: ClassVar[str] = (
        "Containers share the kernel with the server, and a container outlives a killed server until its time limit."
    )

    def __init__(self, image: str = IMAGE) -> None:
        self._image = image

    def probe(self) -> str:
        return probe_failure(self)

    async def run(
        self, command: ShellCommand, *, on_output: Callable[[str], None], on_start: Callable[[ProcessIdentity], None]
    ) -> CommandOutcome:
        check_command(command)
        if command.proxy_access:
            raise ToolError("Commands have no network under docker. Use the tools search and fetch_url instead.")
        if command.stdin != DEVNULL:
            raise ToolError("Commands do not run in the background under docker. Run it in the foreground.")
        container = f"agentsite-{uuid.uuid4()}"
        with MemoryFiles() as files:
            arguments = ["run", f"--name={container}", *_ISOLATION, *_container_options(command), self._image, "sh"]
            program = _docker(*arguments, stdin=files.add(_script(command)))
            try:
                return await supervise(
                    program.start(),
                    command.limits,
                    folders=[command.workspace],
                    on_output=on_output,
                    on_start=on_start,
                )
            finally:  # ending the client does not end the container
                await asyncio.shield(_remove(container))


def _container_options(command: ShellCommand) -> list[str]:
    limits = command.limits
    uid, gid = command.owner or (os.getuid(), os.getgid())
    return [
        f"--user={uid}:{gid}",
        f"--mount=type=bind,source={command.workspace.absolute()},target={WORKSPACE}",
        *(f"--mount=type=bind,source={view.absolute()},target={path},readonly" for view, path in view_mounts(command)),
        *([f"--mount=type=bind,source={command.home.absolute()},target={_HOME}"] if command.home else ()),
        *(f"--mount=type=bind,source={layer.folder},target={layer.mount},readonly" for layer in command.layers),
        f"--tmpfs={TEMPORARY}:rw,exec,mode=1777,size={limits.temporary}",
        f"--memory={limits.memory}",
        f"--memory-swap={limits.memory}",
        f"--pids-limit={limits.processes}",
        f"--ulimit=cpu={limits.processor_s}",
        f"--ulimit=fsize={limits.file_size}",
        f"--ulimit=nofile={limits.open_files}",
        "--ulimit=core=0",
    ]


def _script(command: ShellCommand) -> str:
    """Return the script that the container's shell reads, which keeps the command and its environment out of `ps`."""
    values = command_environment(command, home=_HOME if command.home else TEMPORARY, has_network=False).items()
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values)
    # The timeout ends the command if the server dies and cannot remove the container.
    timeout = f"timeout -s KILL {command.limits.wall_s + 5:.0f}"
    return f"{exports}exec {timeout} $(command -v bash || echo sh) -c {shlex.quote(command.text)} </dev/null\n"


def _docker(*arguments: str, stdin: int = DEVNULL) -> ProcessSpec:
    if not (docker := which("docker")):
        raise SandboxUnavailable("The program docker is not installed.")
    passed = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("DOCKER_")}
    return ProcessSpec(argv=[docker, *arguments], environment={"PATH": PATH} | passed, stdin=stdin)


async def _remove(container: str) -> None:
    program = _docker("rm", "--force", container)
    limits = CommandLimits(wall_s=10)
    await supervise(program.start(), limits, on_output=lambda text: None, on_start=lambda started: None)
