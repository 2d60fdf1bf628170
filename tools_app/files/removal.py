"""Deletes folders that programs have filled: however deep, and also what they have closed. No link is followed."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from tools_app.files import safe_open


def remove_tree(folder: Path) -> None:
    """Deletes a folder with all that is in it; nothing if there is none. Raises OSError.

    What lies in a folder of it is moved up, so that no depth is too much: for recursion, for paths, for descriptors.
    """
    if not os.path.lexists(folder):
        return
    with safe_open.folder(folder.parent, [folder.name], safe_open.enter) as top:
        while names := os.listdir(top):
            for name in names:
                with suppress(FileNotFoundError):  # it has gone meanwhile
                    _remove(top, name)
    folder.rmdir()


def _remove(top: int, name: str) -> None:
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    with safe_open.folder(top, [name], safe_open.enter) as inner:
        for child in os.listdir(inner):
            if _is_folder(inner, child):
                os.close(safe_open.enter(inner, child))  # one that is closed cannot be moved
                os.rename(child, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inner)
    os.rmdir(name, dir_fd=top)


def _is_folder(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
