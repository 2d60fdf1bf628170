"""What comes before the sandbox if the server is root: a first bubblewrap, in which root is given up for good.

Folders above a workspace (or above the program bwrap) may be open to root alone. In this stage they stand where
everybody can reach them, and from there on root and other users go the same way: the command's user namespace
belongs to an ordinary uid, which is what holds a fork bomb.
"""

from pathlib import Path
from shutil import which

from tools_app.errors import SandboxUnavailable
from tools_app.files.owner import Owner
from tools_app.sandbox.environment import PATH

_STAGE = Path("/tmp")  # noqa: S108  covered in this stage's view, not on the machine
_OPTIONS = (
    # The pid namespace: a bwrap without capabilities may not signal a child with another uid, and so could not take
    # it along when it dies. The namespace's first process is still root's, and all the others die with that.
    *("--unshare-pid", "--die-with-parent"),
    *("--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(_STAGE)),
    *("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
)


class RootStage:
    """Shows `sources` to a process that is `owner`. The first that a path lies in says where it stands."""

    def __init__(self, owner: Owner, *sources: Path) -> None:
        self._owner = owner
        self._places = {source: _STAGE / str(number) for number, source in enumerate(sources)}

    @property
    def options(self) -> list[str]:
        """For bwrap."""
        binds = (("--bind", str(source), str(place)) for source, place in self._places.items())
        return [*_OPTIONS, *(word for bind in binds for word in bind)]

    def place(self, path: Path) -> Path:
        """Where `path` stands in this stage."""
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
