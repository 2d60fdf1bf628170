"""The disk that `var/` lies on."""

import shutil

from agentsite.checks.messages import Finding, broken, fine, note
from agentsite.environment import VAR_DIR

_NAME = "disk"
_LITTLE = 2 * 1000**3  # bytes
_NOTHING = 200 * 1000**2


def space() -> Finding:
    free = shutil.disk_usage(VAR_DIR).free
    sentence = f"{free / 1000**3:.1f} GB are free in {VAR_DIR}."
    if free < _NOTHING:
        return broken(_NAME, sentence, "Make room: the database and the workspaces can soon not be written.")
    if free < _LITTLE:
        return note(_NAME, sentence, "Make room soon.")
    return fine(_NAME, sentence)
