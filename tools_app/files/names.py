r"""File names as text, and the lookup of the file that such a text refers to.

All interfaces show every name of a workspace: lists, searches, REST, pages, downloads and the history. Characters that
would break or reverse a line, and bytes that are not UTF-8, are shown as escapes such as `\n` or `\udcff`. Names are
accepted in this spelling too. Models and keyboards also use other normal forms and ordinary spaces, so the lookup first
tries the exact name, then the only entry of the folder that is equal after folding.
"""

import os
import re
import unicodedata
from collections.abc import Sequence

from tools_app.errors import ToolError
from tools_app.files import safe_open

# Control characters, line ends, marks that reverse the text direction, and bytes that are not UTF-8.
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SELECTOR = re.compile(r"[\ufe00-\ufe0f]")  # select the presentation of an emoji
_SPACES = re.compile(r"\s+")
_MAX_SPELLINGS = 5  # names in a sentence


def as_text(name: str) -> str:
    """Return a name or path as shown to people and models."""
    return UNWRITABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), name)


def normalized(text: str) -> str:
    """Return part of a name in NFKC, with ordinary single spaces and without invisible characters."""
    plain = unicodedata.normalize("NFKC", _SELECTOR.sub("", _SURROGATE.sub("\ufffd", text)))
    if not plain.isascii():
        plain = "".join(character for character in plain if unicodedata.category(character) != "Cf")
    return _SPACES.sub(" ", plain)


def folded(name: str) -> str:
    """Return the form that different spellings of a name have in common."""
    return normalized(name).strip()


def resolve(folder: int, names: Sequence[str]) -> tuple[str, ...]:
    """Return the real names of the entries that a path refers to, below an open folder. Links are not followed.

    From the first missing name on, names are returned unchanged.

    Raises: ToolError if several entries match.
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
    """Return the name of the matching entry, or `name` itself.

    Raises: OSError, ToolError
    """
    if safe_open.exists(folder, name):
        return name
    key = folded(name)
    entries = [
        entry
        for entry in os.listdir(folder)
        if name in (as_text(entry), _ascii_spelling(entry)) or folded(entry) == key
    ]
    if len(entries) > 1:
        spellings = sorted(map(_ascii_spelling, entries))[:_MAX_SPELLINGS]
        raise ToolError(f"{name} may be {' or '.join(spellings)}. Use one of these spellings.")
    return entries[0] if entries else name


def _ascii_spelling(name: str) -> str:
    """Return a spelling that distinguishes names that look the same."""
    return as_text(name).encode("ascii", "backslashreplace").decode()


def to_stored(path: str) -> str:
    """Return a path as text for the history: bytes that are not UTF-8 are escaped."""
    return path.encode(errors="backslashreplace").decode()


def is_storable(path: str) -> bool:
    """Return whether `from_stored` restores the path."""
    return not _BYTE.search(path)


def from_stored(path: str) -> str:
    """Return the path of a file from its text in the history."""
    return _BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), path)
