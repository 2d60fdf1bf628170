"""Names of files as text, and the file that such a text means.

Every name in a workspace appears everywhere: in lists, searches, REST, pages, downloads and the history. A character
that would break or reverse a line, and a byte that is not UTF-8, is written as an escape such as `\\n` or `\\udcff`,
and the name is accepted in this spelling. Models and keyboards also write names in another normal form, or with
ordinary spaces: the exact name comes first, then the one entry of the folder that is equal when both are folded.
"""

import os
import re
import unicodedata
from collections.abc import Sequence

from tools_app.errors import ToolError
from tools_app.files import safe_open

# Controls, ends of lines, marks that reverse the direction of what follows, and bytes that are not UTF-8.
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SELECTOR = re.compile(r"[\ufe00-\ufe0f]")  # of how an emoji looks
_SPACES = re.compile(r"\s+")
_LISTED = 5  # names in a sentence


def as_text(name: str) -> str:
    """Return a name, or a path, as people and models read it."""
    return UNWRITABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def loose(text: str) -> str:
    """Return part of a name in NFKC, with ordinary single spaces and without invisible characters."""
    plain = unicodedata.normalize("NFKC", _SELECTOR.sub("", _SURROGATE.sub("\ufffd", text)))
    if not plain.isascii():
        plain = "".join(character for character in plain if unicodedata.category(character) != "Cf")
    return _SPACES.sub(" ", plain)


def folded(name: str) -> str:
    """Return what two spellings of a name have in common."""
    return loose(name).strip()


def meant(folder: int, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the entries that a path means, below an open folder. No link is followed.

    From the first name on that nothing has, they are returned as they are.

    Raises:
        ToolError: several entries may be meant.
    """
    real: list[str] = []
    current = os.dup(folder)
    try:
        for name in names:
            if real:
                inner = safe_open.open_folder(current, real[-1])
                os.close(current)
                current = inner
            real.append(_entry(current, name))
    except OSError:  # opening the path reports it
        pass
    finally:
        os.close(current)
    return (*real, *names[len(real) :])


def _entry(folder: int, name: str) -> str:
    """Return the entry that is meant, or else the name itself. Raises OSError and ToolError."""
    if safe_open.exists(folder, name):
        return name
    key = folded(name)
    entries = [
        entry for entry in os.listdir(folder) if name in (as_text(entry), _escaped(entry)) or folded(entry) == key
    ]
    if len(entries) > 1:
        spellings = sorted(map(_escaped, entries))[:_LISTED]
        raise ToolError(f"{name} may be {' or '.join(spellings)}. Use one of these spellings.")
    return entries[0] if entries else name


def _escaped(name: str) -> str:
    """Return a spelling that tells names apart that look the same."""
    return as_text(name).encode("ascii", "backslashreplace").decode()


def stored(path: str) -> str:
    """Return a path as the history stores it, as text: bytes that are not UTF-8 are escaped."""
    return path.encode(errors="backslashreplace").decode()


def is_storable(path: str) -> bool:
    """Return whether `from_stored` gives the path back."""
    return not _BYTE.search(path)


def from_stored(path: str) -> str:
    """Return the path of a file that the history names."""
    return _BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), path)
