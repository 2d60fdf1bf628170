"""Remembered notes as text for a model: data within tags that the notes cannot close."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

_TAG_START = re.compile(r"<(?=\s*/|\s*(?:passage|note)\b)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Note:
    """A stored note of a person, of the session's project or of the team."""

    number: int
    text: str
    of: Literal["person", "project", "team"]
    written: date

    def __str__(self) -> str:
        return f'<note number="{self.number}" of="{self.of}" date="{self.written}">{_escape(self.text)}</note>'


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A part of a file in the workspace."""

    path: str
    text: str

    def __str__(self) -> str:
        return f'<passage path="{self.path}">{_escape(self.text)}</passage>'


@dataclass(frozen=True, kw_only=True)
class CitedPassage:
    """A passage of a file in the project's library. `unit` is the name of its pages."""

    file: int
    name: str
    unit: str
    page: int
    text: str

    @property
    def link(self) -> str:
        """The link by which an answer cites the passage. The chat opens the file there."""
        return f"[{self.name}, {self.unit} {self.page}](library:{self.file}/{self.page})"

    def __str__(self) -> str:
        return f'<passage cite="{self.link}">\n{_escape(self.text)}\n</passage>'


def rendered(remembered: Iterable[Note | Passage]) -> str:
    return "\n".join(["<memory>", *map(str, remembered), "</memory>"])


def _escape(text: str) -> str:
    """Escape the tags that notes must not open or close."""
    return _TAG_START.sub(r"<\\", text)
