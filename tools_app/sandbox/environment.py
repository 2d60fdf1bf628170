"""The environment of a command: a few fixed names, and what the call adds. Nothing of the server's."""

import re

from tools_app.errors import ToolError
from tools_app.sandbox.base import Command

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

# Not LD_PRELOAD and its kin: they would run code in the very programs that set the limits.
_NAME = re.compile(r"(?!LD_|GLIBC_|MALLOC_)[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def environment(command: Command, *, home: str, path: str = PATH) -> dict[str, str]:
    """Names and values as the command sees them. Raises ToolError for what cannot be one."""
    for name, value in command.environment.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise ToolError(f"{name!r} cannot be set as an environment variable.")
    fixed = {"PATH": path, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
    if command.outlet:
        fixed |= command.outlet.environment
    return fixed | dict(command.environment)
