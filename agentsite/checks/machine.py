"""Who may read what the server keeps in `var/`."""

from pathlib import Path

from agentsite.checks.messages import Finding, broken, fine, note
from agentsite.environment import VAR_DIR

_OTHERS = 0o077
_OTHERS_WRITE = 0o022


def keys() -> Finding:
    """The server's user alone may read them."""
    if readable := [path for path in _keys() if _mode(path) & _OTHERS]:
        return broken("keys", f"Others can read {_listed(readable)}.", f"Run: chmod -R go= {VAR_DIR / 'keys'}")
    return fine("keys", "Only the server's user can read the keys.")


def data() -> Finding:
    """Nobody else may write to `var/`, and nobody should read the database."""
    if _mode(VAR_DIR) & _OTHERS_WRITE:
        return broken("files", f"Others can write to {VAR_DIR}.", f"Run: chmod go-w {VAR_DIR}")
    if readable := [path for path in VAR_DIR.glob("*.sqlite3") if _mode(path) & _OTHERS]:
        names = _listed(readable)
        return note("files", f"Other users of this machine can read {names}.", f"Run: chmod go= {names}*")
    return fine("files", "Only the server's user can write to its folder and read its database.")


def _keys() -> list[Path]:
    folder = VAR_DIR / "keys"
    return [folder, *folder.iterdir()] if folder.is_dir() else []


def _mode(path: Path) -> int:
    return path.stat().st_mode


def _listed(paths: list[Path]) -> str:
    return " ".join(str(path) for path in paths)
