"""What the environment says, read once; the version; and the keys that the embedded mode makes for itself."""

import os
import secrets
import tomllib
from pathlib import Path

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]  # written there only

REDIS_URL: str = env.str("REDIS_URL", default="")
EMBEDDED: bool = not REDIS_URL
VAR_DIR = Path(env.str("AGENTSITE_VAR", default=str(BASE_DIR / "var"))).resolve()


def database_url() -> str:
    return str(env.str("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'agentsite.sqlite3'}"))


def key(name: str) -> str:
    """The key `name` from the environment, or the one kept in `var/` in the embedded mode.

    Raises ImproperlyConfigured in a team deployment without the variable: there each
    process would make a key of its own.
    """
    if EMBEDDED:
        _make_var()
    if value := env.str(name, default=""):
        return str(value)
    if not EMBEDDED:
        raise ImproperlyConfigured(f"{name} is not set. A team deployment needs it in every process.")
    return _kept_key(name)


def _kept_key(name: str) -> str:
    path = VAR_DIR / "keys" / name.lower()
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write_once(path, Fernet.generate_key().decode() if "ENCRYPTION" in name else secrets.token_urlsafe(50))
        return path.read_text().strip()
    except OSError as error:
        raise _unwritable(error) from error


def _make_var() -> None:
    """Whichever command is the first, all that is in it is nobody else's business."""
    try:
        VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"Cannot write to {VAR_DIR}: {error.strerror}. Make it writable, or set AGENTSITE_VAR to a folder that is."
    )


def _write_once(path: Path, value: str) -> None:
    """Whole or not at all, and never over what is there: two first starts agree on one key."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(value)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first: its key holds
    finally:
        draft.unlink()
