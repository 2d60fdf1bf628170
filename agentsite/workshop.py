"""The background installation of Python packages for commands, while the server is already running."""

import threading
import time
from collections.abc import Callable

from django.conf import settings

from tools_app.sandbox import workshop

Say = Callable[[str], object]
_BEGINS = "Python packages for commands are being installed (AGENTSITE_WORKSHOP=0 leaves them out)."


def install_missing(say: Say) -> None:
    """Install the packages in a thread if they are enabled and missing. `say` gets a sentence at start and end."""
    if workshop.is_missing(settings.WORKSHOP, settings.VAR_DIR):
        threading.Thread(target=_install, args=(say,), name="workshop", daemon=True).start()


def _install(say: Say) -> None:
    began = time.monotonic()
    say(_BEGINS)
    try:
        workshop.install(settings.VAR_DIR)
    except (workshop.CannotInstall, OSError) as error:
        say(f"Commands have no additional Python packages: {error}. The next start tries again.")
    else:
        say(f"Commands have their Python packages ({time.monotonic() - began:.0f} s).")
