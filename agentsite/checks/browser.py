"""The browser, with which tools look at pages."""

from agentsite.checks.messages import Finding, fine, note
from tools_app.browser import program

_NAME = "browser"


def installed() -> Finding:
    if not program.installed():
        return note(_NAME, "No Chromium was found, so tools have no browser.", "Install the system's package chromium.")
    return fine(_NAME, f"Chromium is {program.installed()}.")
