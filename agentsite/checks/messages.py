"""The messages of checks: Django's check messages, each about a named subject."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.core.checks import DEBUG, CheckMessage, Error, Warning


class Status(StrEnum):
    """The status of a finding. A note is worth knowing and breaks nothing."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


class Ok(CheckMessage):
    """A message without a problem: shown by `doctor`, counted as silenced by `manage.py check`."""

    def __init__(self, sentence: str, **fields: Any) -> None:
        super().__init__(DEBUG, sentence, **fields)

    def is_silenced(self) -> bool:
        return True


def ok(number: int, name: str, sentence: str) -> CheckMessage:
    return Ok(sentence, obj=name, id=f"agentsite.D{number:03}")


def note(number: int, name: str, sentence: str, hint: str = "") -> CheckMessage:
    return Warning(sentence, hint=hint or None, obj=name, id=f"agentsite.W{number:03}")


def broken(number: int, name: str, sentence: str, hint: str) -> CheckMessage:
    return Error(sentence, hint=hint, obj=name, id=f"agentsite.E{number:03}")


def status_of(message: CheckMessage) -> Status:
    if message.is_serious():
        return Status.BROKEN
    return Status.OK if isinstance(message, Ok) else Status.NOTE


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A check message as `doctor` and the admin show it."""

    name: str
    status: Status
    sentence: str
    hint: str
    id: str

    @classmethod
    def from_message(cls, message: CheckMessage) -> "Finding":
        return cls(
            name=str(message.obj),
            status=status_of(message),
            sentence=message.msg,
            hint=message.hint or "",
            id=message.id or "",
        )

    def as_json(self) -> dict[str, str]:
        fields = asdict(self)
        fields["mend"] = fields.pop("hint")  # its public name
        return fields
