"""Checks of this machine and its settings: sandbox, packages, browser, disk, files, and unsafe settings."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage

from agentsite.checks.messages import broken, note, ok
from agentsite.environment import EMBEDDED, VAR_DIR, env
from agentsite.serving.hosts import hosts_sentence
from tasks_app.workspace import folders
from tools_app.browser import program
from tools_app.sandbox import NoSandbox, workshop

_LITTLE_SPACE = 2 * 1000**3  # bytes
_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_MIN_KEY_LENGTH = 50  # characters; as in Django's own check security.W009


def sandbox_works() -> CheckMessage:
    """Report the strongest sandbox whose first command ran, and its weakness. Reads the database."""
    backend = folders.sandbox()
    if isinstance(backend, NoSandbox):
        return broken(
            21,
            "sandbox",
            f"No sandbox works, so the shell is off. {backend.probe()}",
            "Install bubblewrap (the system's package), or set AGENTSITE_SANDBOX.",
        )
    if backend.weakness:
        return note(22, "sandbox", f"Commands run in {backend.name}. {backend.weakness}")
    return ok(20, "sandbox", f"Commands run in {backend.name}.")


def packages_are_installed() -> CheckMessage:
    """Check whether commands have additional Python packages."""
    if layer := workshop.layer(settings.WORKSHOP, VAR_DIR):
        return ok(24, "packages", f"Commands have the Python packages in {layer.folder}.")
    if settings.WORKSHOP == workshop.OFF:
        return ok(24, "packages", "AGENTSITE_WORKSHOP leaves the Python packages of commands out.")
    sentence = "Commands have no additional Python packages on this machine."
    hint = "The server installs them when it starts, and says why it cannot; AGENTSITE_WORKSHOP may name a folder."
    return note(24, "packages", sentence, hint)


def browser_is_installed() -> CheckMessage:
    if not program.chromium_path():
        sentence = "No Chromium was found, so tools have no browser."
        return note(70, "browser", sentence, "Install the system's package chromium.")
    return ok(70, "browser", f"Chromium is {program.chromium_path()}.")


def disk_has_space() -> CheckMessage:
    """Check the free space of the disk with `var/`."""
    free = shutil.disk_usage(VAR_DIR).free
    sentence = f"{free / 1000**3:.1f} GB are free in {VAR_DIR}."
    if free < settings.LEAST_FREE_DISK:
        return broken(
            80,
            "disk",
            sentence,
            "Free some space: no new task or file is taken, and soon the database cannot be written.",
        )
    if free < _LITTLE_SPACE:
        return note(81, "disk", sentence, "Free some space soon.")
    return ok(80, "disk", sentence)


def files_are_private() -> Iterator[CheckMessage]:
    """Check that only the server's user can read the keys and the database, and write to `var/`."""
    folder = VAR_DIR / "keys"
    keys = [folder, *folder.iterdir()] if folder.is_dir() else []
    if readable := [path for path in keys if _mode(path) & _OTHERS]:
        sentence = f"Others can read {_joined(readable)}."
        yield broken(90, "keys", sentence, f"Run: chmod -R go= {VAR_DIR / 'keys'}")
    else:
        yield ok(90, "keys", "Only the server's user can read the keys.")
    if _mode(VAR_DIR) & _OTHERS_WRITE:
        yield broken(91, "files", f"Others can write to {VAR_DIR}.", f"Run: chmod go-w {VAR_DIR}")
    elif readable := [path for path in VAR_DIR.glob("*.sqlite3") if _mode(path) & _OTHERS]:
        names = _joined(readable)
        yield note(92, "files", f"Other users of this machine can read {names}.", f"Run: chmod go= {names}*")
    else:
        yield ok(91, "files", "Only the server's user can write to its folder and read its database.")


def _mode(path: Path) -> int:
    return path.stat().st_mode


def _joined(paths: list[Path]) -> str:
    return " ".join(str(path) for path in paths)


def settings_are_safe() -> Iterator[CheckMessage]:
    """Yield one message for each problem, or one if there is none."""
    problems = [*_site_problems(), *([] if EMBEDDED else _team_problems())]
    yield from problems or [ok(110, "settings", "Nothing dangerous is switched on.")]


def _site_problems() -> Iterator[CheckMessage]:
    if settings.DEBUG:
        sentence = "DEBUG is on: error pages show the server's internals to everyone."
        yield broken(110, "settings", sentence, "Unset DEBUG.")
    if len(settings.SECRET_KEY) < _MIN_KEY_LENGTH:
        sentence = f"SECRET_KEY is shorter than {_MIN_KEY_LENGTH} characters."
        yield broken(111, "settings", sentence, "Set a long random one.")
    if "*" in settings.ALLOWED_HOSTS:
        yield broken(112, "settings", "ALLOWED_HOSTS allows every name.", "List the names of this site.")
    if sentence := hosts_sentence(env.str("HOST", default="127.0.0.1")):
        yield note(115, "settings", sentence, "Requests under any other name are refused (400).")
    if settings.AGENTSITE_URL.startswith("https://") and not settings.TRUSTED_PROXIES:
        sentence = f"AGENTSITE_URL is {settings.AGENTSITE_URL}, and no proxy may say that a request came over https."
        yield note(116, "settings", sentence, "Name the address of the proxy that ends TLS in TRUSTED_PROXIES.")


def _team_problems() -> Iterator[CheckMessage]:
    has_https_origin = any(origin.startswith("https://") for origin in settings.CSRF_TRUSTED_ORIGINS)
    if not (settings.TRUSTED_PROXIES or has_https_origin):
        yield note(
            113,
            "settings",
            "Neither TRUSTED_PROXIES nor an https:// address in CSRF_TRUSTED_ORIGINS says that there is TLS.",
            "Put a proxy with TLS before the server, and name its address in TRUSTED_PROXIES.",
        )
    if not (settings.SESSION_COOKIE_SECURE or settings.TRUSTED_PROXIES):
        sentence = "The session cookie is sent over plain http too."
        yield note(114, "settings", sentence, "Serve the site over https.")
