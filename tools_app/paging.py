"""Pages of what is too long for one result: whole lines in so many bytes, and the call that shows the next page.

Such a call is written as a model makes it, so that it can be followed word for word.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

_BREAKS = re.compile(r"[\s,;\"'<>&]")  # a line that is longer than a page ends after one of these
_BACK = 512  # characters in which one is looked for, so that a word (or a secret) is not halved where that is avoidable


def next_call(tool: str, **arguments: Any) -> str:
    """Such as file(action="read", path="a.txt", offset=12). Arguments that are None are left out."""
    given = (
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items() if value is not None
    )
    return f"{tool}({', '.join(given)})"


def size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text.encode(errors="replace"))


def fitting(items: Iterable[str], room: int) -> list[str]:
    """The first items that have room in so many bytes, a line each; one in any case."""
    shown: list[str] = []
    for item in items:
        room -= size(item) + 1
        if room < 0 and shown:
            break
        shown.append(item)
    return shown


def end_of_page(text: str, begin: int, room: int) -> int:
    """Where a page ends that begins with the character `begin` and has room for so many bytes: after a line.

    Within a line only if that one alone is longer; it has one character in any case.
    """
    fits = text[begin : begin + max(room, 1)].encode(errors="replace")[: max(room, 1)].decode(errors="ignore")
    end = begin + max(len(fits), 1)
    if end >= len(text):
        return len(text)
    if line_end := text.rfind("\n", begin, end) + 1:
        return line_end
    breaks = [found.end() for found in _BREAKS.finditer(text, max(begin, end - _BACK), end)]
    return breaks[-1] if breaks else end
