"""The user who owns workspaces and runs the programs that tools start."""

import os

Owner = tuple[int, int]

# Belongs to nobody else: systemd hands out 61184 to 65519 (systemd.io/UIDS-GIDS), Debian's packages less
# (policy 9.2.2), and 65534 is "nobody". Below 65536, so that it exists in rootless containers too.
UNPRIVILEGED = 65_531


def workspace_owner() -> Owner | None:
    """The (uid, gid) for workspaces and programs if the server is root; None if it has a user of its own."""
    return (UNPRIVILEGED, UNPRIVILEGED) if os.geteuid() == 0 else None
