"""The user who owns workspaces and runs the programs started by tools."""

import os
from pathlib import Path

Owner = tuple[int, int]

# A uid that is not used otherwise: systemd assigns 61184 to 65519 (systemd.io/UIDS-GIDS), Debian's packages use lower
# ones (policy 9.2.2), and 65534 is "nobody". It is below 65536, so that it exists in rootless containers too.
UNPRIVILEGED = 65_531
_GIT_CONFIG = "[user]\n\tname = Agent\n\temail = agent@sandbox.invalid\n[init]\n\tdefaultBranch = main\n"


def workspace_owner() -> Owner | None:
    """Return the (uid, gid) for workspaces and programs if the server is root, otherwise None."""
    return (UNPRIVILEGED, UNPRIVILEGED) if os.geteuid() == 0 else None


def make_home(home: Path, owner: Owner | None) -> None:
    """Create the home of programs, with an author name for their commits."""
    make_private(home, owner)
    (settings := home / ".gitconfig").write_text(_GIT_CONFIG)
    if owner:
        os.chown(settings, *owner)


def make_private(folder: Path, owner: Owner | None) -> None:
    """Create a folder and its parents, accessible to the owner only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if owner:
        os.chown(folder, *owner)


def hand_over(descriptor: int, owner: Owner | None) -> None:
    if owner:
        os.fchown(descriptor, *owner)
