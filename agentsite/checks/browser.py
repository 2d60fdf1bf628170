"""The browser, with which tools look at pages."""

from shutil import which

from agentsite.checks.finding import Finding, fine, note

_NAME = "browser"
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def installed() -> Finding:
    program = next(filter(None, map(which, _PROGRAMS)), None)
    if program is None:
        return note(_NAME, "No Chromium was found, so tools have no browser.", "Install the system's package chromium.")
    return fine(_NAME, f"Chromium is {program}.")
