"""The compacted block as people read it: line by line, each with the entry that it stands for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"\s*<(about|user|agent|asked|step|turns|omitted|note)((?: \w+=\"[^\"]*\")*)>(.*?)</\1>", re.DOTALL)
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
    """All that the model is given in the place of old turns. Inside of a line no tag of ours can end."""
    place = len("<compacted_history>")
    while found := _LINE.match(block, place):
        place = found.end()
        tag, attributes = found[1], dict(_ATTRIBUTE.findall(found[2]))
        if tag == "about":
            continue
        yield OutlineLine(
            label=_LABELS.get(tag, "Left out" if tag == "omitted" else "Note"),
            text=found[3],
            seq=int(attributes.get("n") or attributes.get("from") or 0),
            last=int(attributes.get("to") or 0),
            status=attributes.get("status", ""),
        )
