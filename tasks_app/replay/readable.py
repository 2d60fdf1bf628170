"""A request as people read it: a line for each value, texts over as many lines as they have."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.editing import diff

LONGEST = 200_000  # characters of one text; the download has all
_DATA = 2_000  # characters without white space: a picture, which is not for reading
_HEAD = 60


@dataclass(frozen=True, kw_only=True)
class Part:
    """A field of the request, such as its messages; small ones are together under "parameters"."""

    name: str
    text: str


def parts_of(body: bytes) -> Sequence[Part]:
    """In the order in which they are sent."""
    fields: dict[str, Any] = json.loads(body)
    small = {name: value for name, value in fields.items() if not isinstance(value, dict | list)}
    large = [Part(name=name, text=text_of(value)) for name, value in fields.items() if name not in small]
    return [Part(name="parameters", text=text_of(small)), *large] if small else large


def difference(earlier: bytes, later: bytes) -> Sequence[tuple[str, str]]:
    """The lines that changed and those around them, each with its kind: added, removed, place or same."""
    return changed_lines(_whole(earlier), _whole(later))


def changed_lines(before: str, after: str) -> Sequence[tuple[str, str]]:
    """The same of two texts."""
    lines = diff.unified(before, after, "text")
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in lines.splitlines()[2:]]


def _whole(body: bytes) -> str:
    return "".join(f"{part.name}:\n{part.text}\n" for part in parts_of(body))


def text_of(value: Any) -> str:
    """A value of JSON."""
    return "\n".join(_lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _field(f"{name}:", item)
    elif isinstance(value, list):
        for item in value:
            yield from _item(list(_lines(item)))
    else:
        yield from _scalar(value)


def _field(name: str, value: Any) -> Iterator[str]:
    """On one line where its value has one."""
    lines = list(_lines(value))
    if len(lines) == 1 and not (isinstance(value, dict | list) and value):
        yield f"{name} {lines[0]}"
        return
    yield name if lines else f"{name} {json.dumps(value)}"
    yield from (f"  {line}" for line in lines)


def _item(lines: Sequence[str]) -> Iterator[str]:
    yield f"- {lines[0] if lines else ''}".rstrip()
    yield from (f"  {line}" for line in lines[1:])


def _scalar(value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield json.dumps(value)
    elif len(value) > _DATA and not any(map(str.isspace, value)):
        yield f"{value[:_HEAD]}… [{len(value):,} characters of data]"
    else:
        yield from (value[:LONGEST].split("\n") if value else ['""'])
        if len(value) > LONGEST:
            yield f"[… {len(value) - LONGEST:,} more characters]"
