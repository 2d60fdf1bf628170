"""The lock that allows one server per `var/`. A second one reads the address of the first from it."""

import fcntl
import os
from pathlib import Path
from typing import IO

from django.conf import settings


class AlreadyServing(Exception):
    """Another server runs with the same data."""


class ServerLock:
    """A lock that is held until the process ends. The operating system releases it, even after `kill -9`."""

    def __init__(self, address: str) -> None:
        self._file = self._take(address)

    @staticmethod
    def _take(address: str) -> IO[str]:
        """Take the lock and write the address into its file.

        Raises: AlreadyServing with the address of the server that holds the lock.
        """
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), "r+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyServing(file.read().strip()) from error
        file.truncate()
        file.write(address)
        file.flush()
        return file


def holder() -> str:
    """Return the address of the server that runs with this data, '' if none does."""
    try:
        with _path().open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip()
    except FileNotFoundError:
        pass  # no server ever ran here
    return ""


def _path() -> Path:
    return Path(settings.RUN_DIR) / "serve.lock"
