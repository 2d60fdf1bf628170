"""What of a page a model reads."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Page:
    """`by` says by which other way it was read, where its server's answer alone did not show it."""

    title: str
    text: str
    by: str = ""
