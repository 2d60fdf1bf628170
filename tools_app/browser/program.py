"""The Chromium that is installed here."""

from functools import cache
from shutil import which

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@cache
def chromium_path() -> str:
    """Its path; empty if there is none. Found out once per process."""
    return next(filter(None, map(which, _PROGRAMS)), "")
