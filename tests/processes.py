"""The processes of this machine."""

from pathlib import Path


def living() -> set[int]:
    """Return all processes except zombies."""
    return {number for number, _, state in filter(None, map(_read, Path("/proc").glob("[0-9]*/stat"))) if state != "Z"}


def below(pid: int) -> set[int]:
    """Return the running descendants of a process, without zombies."""
    children: dict[int, list[int]] = {}
    for number, parent, state in filter(None, map(_read, Path("/proc").glob("[0-9]*/stat"))):
        if state != "Z":
            children.setdefault(parent, []).append(number)
    found: set[int] = set()
    waiting = children.get(pid, [])
    while waiting:
        found.add(one := waiting.pop())
        waiting = waiting + children.get(one, [])
    return found


def _read(stat: Path) -> tuple[int, int, str] | None:
    try:
        state, parent, *_ = stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.parent.name), int(parent), state


def command_line(pid: int) -> str:
    """Return the command line of a process, its arguments separated by spaces, or "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
