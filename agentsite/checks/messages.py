"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """A note is worth knowing and breaks nothing."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`sentence` says how it is, `mend` what to do about it."""

    name: str
    status: Status
    sentence: str
    mend: str = ""

    @property
    def ok(self) -> bool:
        return self.status is not Status.BROKEN


def fine(name: str, sentence: str) -> Finding:
    return Finding(name=name, status=Status.OK, sentence=sentence)


def note(name: str, sentence: str, mend: str = "") -> Finding:
    return Finding(name=name, status=Status.NOTE, sentence=sentence, mend=mend)


def broken(name: str, sentence: str, mend: str) -> Finding:
    return Finding(name=name, status=Status.BROKEN, sentence=sentence, mend=mend)
