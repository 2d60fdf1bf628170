"""What all formats share."""

from collections.abc import Iterator
from dataclasses import dataclass


class Unreadable(Exception):
    """The message says why, in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """`lines` are produced lazily."""

    title: str
    lines: Iterator[str]


def row(cells: list[str]) -> str:
    """A row of a table; a cell keeps to its line."""
    return f"| {' | '.join(' '.join(cell.split()).replace('|', '¦') for cell in cells)} |"
