"""The installed Chromium program."""

from functools import cache
from shutil import which

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@cache
def chromium_path() -> str:
    """Return the path of Chromium, or '' if it is not installed. Cached per process."""
    return next(filter(None, map(which, _PROGRAMS)), "")
