"""What a command sees under bubblewrap: the system's programs, its workspace, and nothing of the server."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tools_app.errors import SandboxUnavailable
from tools_app.sandbox.base import TEMPORARY, Limits

HOME = f"{TEMPORARY}/home"
HOSTNAME = "sandbox"

_PROJECT = Path(__file__).resolve().parents[2]
_SYSTEM = Path("/usr")
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = (
    *("alternatives", "fonts", "ld.so.cache", "localtime", "mime.types", "nsswitch.conf", "os-release", "pki/tls"),
    *("protocols", "services", "ssl/certs", "ssl/openssl.cnf"),
)


def system(workspace: Path) -> list[str]:
    """Options for programs and libraries, read-only. Raises SandboxUnavailable if that shows the server's files."""
    options = ["--ro-bind", str(_SYSTEM), str(_SYSTEM)]
    if _PROJECT.is_relative_to(_SYSTEM):
        options += ["--tmpfs", str(_PROJECT)]
    elif workspace.is_relative_to(_SYSTEM):
        raise SandboxUnavailable(f"Workspaces must not be below {_SYSTEM}, which commands can read. Set AGENTSITE_VAR.")
    for name in _SYSTEM_LINKS:
        place = Path("/", name)
        if place.is_symlink():
            options += ["--symlink", str(place.readlink()), str(place)]
        else:
            options += ["--ro-bind-try", str(place), str(place)]
    return options


def settings() -> list[str]:
    """Options for what programs read in /etc."""
    return [word for name in _SETTINGS for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]


def accounts(uid: int, gid: int) -> Mapping[str, str]:
    """The files that name users, groups and hosts: those of the sandbox, not the server's."""
    return {
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nagent:x:{uid}:{gid}:Agent:{HOME}:/bin/sh\n",
        "/etc/group": f"root:x:0:\nagent:x:{gid}:\n",
        "/etc/hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
    }


def devices_and_temporary(limits: Limits) -> list[str]:
    """Options for /proc, /dev and /tmp. File systems in memory are limited in size."""
    in_memory = ("--size", str(limits.temporary), "--perms", "1777", "--tmpfs")
    devices = ["--proc", "/proc", "--dev", "/dev", *in_memory, "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    return [*devices, *in_memory, TEMPORARY, "--dir", HOME]


def python(system_python: Path = Path("/usr/bin/python3")) -> Path | None:
    """The prefix of the server's own Python, for a system that has none; None if it would show more than Python."""
    prefix = Path(sys.base_prefix)
    private = (_PROJECT, Path.home())
    if os.path.lexists(system_python) or any(place.is_relative_to(prefix) for place in private):
        return None
    return None if prefix.is_relative_to(_SYSTEM) else prefix
