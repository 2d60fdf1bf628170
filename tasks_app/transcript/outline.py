"""The compacted block as people read it: line by line, each with the entry that it stands for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TAGS = "about|user|agent|asked|step|turns|omitted|note"
_BEGIN = r"(?:^|(?<=</asked>))"
_LINE = re.compile(rf'{_BEGIN}<({_TAGS})((?: \w+="[^"]*")*)>(.*?)</\1>', re.DOTALL | re.MULTILINE)
_ATTRIBUTE = re.compile(r' (\w+)="([^"]*)"')
_LABELS = {"user": "The person", "agent": "The agent", "asked": "The agent asked", "turns": "Steps", "step": "Step"}


@dataclass(frozen=True, kw_only=True)
class OutlineLine:
    """`seq` is where it stands in the record; `last`, of several turns, where they end. 0 where it stands nowhere."""

    label: str
    text: str
    seq: int = 0
    last: int = 0
    status: str = ""


def lines_of(block: str) -> Iterator[OutlineLine]:
    """All that the model is given in the place of old turns. Inside of a line no tag of ours can end.

    What has no line, such as the text of a skill, stands between them.
    """
    inside = block.removeprefix("<compacted_history>\n").removesuffix("\n</compacted_history>")
    place = 0
    while found := _LINE.search(inside, place):
        yield from _between(inside[place : found.start()])
        place = found.end()
        if found[1] != "about":
            yield _line(found)
    yield from _between(inside[place:])


def _between(text: str) -> Iterator[OutlineLine]:
    if text.strip():
        yield OutlineLine(label="Kept whole", text=text.strip())


def _line(found: re.Match[str]) -> OutlineLine:
    attributes = dict(_ATTRIBUTE.findall(found[2]))
    return OutlineLine(
        label=_LABELS.get(found[1], "Left out" if found[1] == "omitted" else "Note"),
        text=found[3],
        seq=int(attributes.get("n") or attributes.get("from") or 0),
        last=int(attributes.get("to") or 0),
        status=attributes.get("status", ""),
    )
