"""Where the programs that tools start run: one small interface, several backends."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import ClassVar, Protocol

from tools_app.files import Owner, workspace_owner
from tools_app.sandbox.outlet import Outlet

# Where a command sees its workspace, and its temporary files, if the backend can arrange it.
WORKSPACE = "/workspace"
TEMPORARY = "/tmp"  # noqa: S108  not the server's
_SPARE_S = 1  # so that the clock ends a program that keeps all cores busy, and its result says so


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of one command. Sizes in bytes, times in seconds.

    `cpu_s`, `open_files` and `file_size` hold for each process, `memory` for each and for all of the session together,
    `processes` for the session, `temporary` for what it may write outside workspace and home, `workspace` for the total
    size of these two, with what is there already; None leaves it to the disk. `output` is how much is kept, `shown` how
    much is shown while it runs; by default as much as is kept. Without `cpu_s`, all cores may compute until `wall_s`.
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
    shown: int | None = None

    @property
    def processor_s(self) -> int:
        """Seconds that a process can compute. The kernel adds up its threads, so one second of time is one a core."""
        return self.cpu_s or math.ceil(self.wall_s + _SPARE_S) * len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended. `output` is stdout and stderr together, bounded; `truncated` says that more was produced.

    `left_behind` are the command lines of processes that still ran when it had exited, and were ended then.
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
        """Return whether the command was ended for one of its limits."""
        return self.timed_out or self.out_of_memory or self.out_of_space or self.out_of_cpu_time


@dataclass(frozen=True, kw_only=True)
class Started:
    """A process group that now exists: what recovery needs to end it after a crash of the server."""

    pid: int
    start_time: int  # clock ticks since boot, field 22 of /proc/<pid>/stat: a pid alone may be used again


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Programs and libraries in a `folder` of the server, which commands see read-only at `mount`."""

    folder: Path
    mount: Path


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Paths of the workspace: commands can open none of `hidden`, and cannot rename the folders `fixed`."""

    hidden: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Command:
    """A shell command, and what it may use.

    `owner` is the (uid, gid) it runs as; None means as the server does. Without an `outlet` it has no network.
    `stdin` is an open file descriptor; without one, its input is empty. Commands of one `session` share a sandbox, with
    its network and temporary files, where the backend can keep one up. What is in `home` stays from one to the next.
    Of the folders `views` it sees the first read-only at `parent` in the workspace, the next at `parent/parent`; not
    under local, where `parent` is empty. The programs of `layers` come before the system's, those of the first layer
    first. Only bubblewrap applies the `mask`. `time_zone` is a name of the tz database.
    """

    text: str
    workspace: Path
    views: tuple[Path, ...] = ()
    session: str = ""
    home: Path | None = None
    outlet: Outlet | None = None
    stdin: int = DEVNULL
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[Layer, ...] = ()
    mask: Mask = Mask()
    owner: Owner | None = field(default_factory=workspace_owner)
    time_zone: str = "UTC"


class Sandbox(Protocol):
    """A backend. `weakness` says in a sentence what it does not protect; empty if nothing is known."""

    name: ClassVar[str]
    weakness: ClassVar[str]

    def probe(self) -> str:
        """Runs a command; returns why this backend does not work here, or an empty string."""

    async def run(
        self, command: Command, *, on_output: Callable[[str], None], on_start: Callable[[Started], None]
    ) -> Outcome:
        """Runs to the end, to a limit, or until cancelled; in every case no process of it is left.

        Output comes as it is produced, on the event loop. Raises ToolError for what this backend cannot do.
        """
