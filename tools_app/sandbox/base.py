"""The interface of the sandbox backends, and the values that describe a command and its outcome."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import ClassVar, Protocol

from tools_app.files import Owner, workspace_owner
from tools_app.sandbox.proxy_access import ProxyAccess

# Paths inside the sandbox of the workspace and of temporary files, if the backend can mount them.
WORKSPACE = "/workspace"
TEMPORARY = "/tmp"  # noqa: S108  inside the sandbox, not on the server
_EXTRA_CPU_S = 1  # extra CPU time, so that a program on all cores hits the wall clock, which reports a timeout


def cores() -> int:
    """Return the number of processors that commands can use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class CommandLimits:
    """Bounds of one command. Sizes are in bytes, times in seconds.

    `cpu_s`, `open_files` and `file_size` apply to each process. `memory` applies to each process and to all processes
    of the session together, `processes` to the session. `temporary` bounds files outside workspace and home.
    `workspace` bounds the total size of these two, including existing files; None leaves it to the disk. `output` is
    the number of bytes stored, `streamed` the number passed on while the command runs; None streams as much as is
    stored. Without `cpu_s`, all cores may compute until `wall_s`.
    """

    wall_s: float = 120
    cpu_s: int | None = None
    memory: int = 2 * 1024**3
    processes: int = 256
    open_files: int = 1024
    file_size: int = 1024**3
    temporary: int = 512 * 1024**2
    workspace: int | None = None
    output: int = 1024**2
    streamed: int | None = None

    @property
    def processor_s(self) -> int:
        """The CPU seconds that a process can use. The kernel adds up all threads, so each core counts separately."""
        return self.cpu_s or math.ceil(self.wall_s + _EXTRA_CPU_S) * cores()


@dataclass(frozen=True, kw_only=True)
class CommandOutcome:
    """The end of a command. `output` is stdout and stderr together, bounded; `truncated` means that there was more.

    `left_behind` holds the command lines of processes that were still running when the shell exited. They were killed.
    """

    exit_code: int
    output: str
    truncated: bool = False
    timed_out: bool = False
    out_of_memory: bool = False
    out_of_space: bool = False
    out_of_cpu_time: bool = False
    left_behind: tuple[str, ...] = ()

    @property
    def was_killed(self) -> bool:
        """Return whether the command was ended because it exceeded a limit."""
        return self.timed_out or self.out_of_memory or self.out_of_space or self.out_of_cpu_time


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """An existing process group, described well enough to end it after a crash of the server."""

    pid: int
    start_time: int  # clock ticks since boot, field 22 of /proc/<pid>/stat; tells a reused pid apart


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Programs and libraries in a `folder` of the server, mounted read-only at `mount`."""

    folder: Path
    mount: Path


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Protected paths of the workspace: commands cannot open `hidden` paths or rename `fixed` folders."""

    hidden: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShellCommand:
    """A shell command with its resources and permissions.

    `owner` is the (uid, gid) of its processes; None keeps the server's. Without `proxy_access` there is no network.
    `stdin` is an open file descriptor; the default is empty input. Commands of one `session` share a sandbox with its
    network and temporary files, where the backend supports it. Files in `home` persist from one command to the next.

    The first folder of `views` is mounted read-only at `parent` in the workspace, the next at `parent/parent`, and
    `library` at `library`. The local backend leaves them empty. Programs of `layers` take precedence over the system's,
    the first layer over the others. Only bubblewrap applies the `mask`. `time_zone` is a name of the tz database.
    """

    text: str
    workspace: Path
    views: tuple[Path, ...] = ()
    library: Path | None = None
    session: str = ""
    home: Path | None = None
    proxy_access: ProxyAccess | None = None
    stdin: int = DEVNULL
    limits: CommandLimits = field(default_factory=CommandLimits)
    environment: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[Layer, ...] = ()
    mask: Mask = Mask()
    owner: Owner | None = field(default_factory=workspace_owner)
    time_zone: str = "UTC"


class Sandbox(Protocol):
    """A backend. `weakness` states in one sentence what it does not protect; '' if nothing is known."""

    name: ClassVar[str]
    weakness: ClassVar[str]

    def probe(self) -> str:
        """Run a test command. Return the reason why this backend does not work here, or ''."""

    async def run(
        self, command: ShellCommand, *, on_output: Callable[[str], None], on_start: Callable[[ProcessIdentity], None]
    ) -> CommandOutcome:
        """Run a command to its end, to a limit, or until cancelled, and leave no process of it behind.

        `on_output` receives output as it is produced, on the event loop.

        Raises: ToolError if this backend does not support the command.
        """
