"""Pages of results that are too long: complete lines within a number of bytes, and the call for the next page.

The call is written like one of the model's own, so that the model can copy it literally.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

_BREAKS = re.compile(r"[\s,;\"'<>&]")  # a line longer than a page ends after one of these
LONG_ENOUGH = 160  # bytes; a shorter list says more than its summary
_MAX_BACKTRACK = 512  # characters searched for one, so that words and secrets are rarely split


def next_call(tool: str, **arguments: Any) -> str:
    """Return a call such as file(action="read", path="a.txt", offset=12). Arguments that are None are omitted."""
    pairs = (
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items() if value is not None
    )
    return f"{tool}({', '.join(pairs)})"


def size(text: str) -> int:
    """Return the number of bytes in UTF-8."""
    return len(text.encode(errors="replace"))


def fitting_items(items: Iterable[str], room: int) -> list[str]:
    """Return the first items that fit into `room` bytes, one line each, but at least one."""
    fitted: list[str] = []
    for item in items:
        room -= size(item) + 1
        if room < 0 and fitted:
            break
        fitted.append(item)
    return fitted


def end_of_page(text: str, begin: int, room: int) -> int:
    """Return the end of a page that starts at `begin` and fits into `room` bytes: after a line, if possible.

    A line longer than the page is split. The page has at least one character.
    """
    fits = text[begin : begin + max(room, 1)].encode(errors="replace")[: max(room, 1)].decode(errors="ignore")
    end = begin + max(len(fits), 1)
    if end >= len(text):
        return len(text)
    if line_end := text.rfind("\n", begin, end) + 1:
        return line_end
    breaks = [match.end() for match in _BREAKS.finditer(text, max(begin, end - _MAX_BACKTRACK), end)]
    return breaks[-1] if breaks else end
