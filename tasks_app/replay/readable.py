"""A readable form of requests: their parts, a comparison with the preceding request, and the outline of old turns."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.editing import diff

LONGEST = 200_000  # characters per text; the download has everything
_DATA = 2_000  # longer strings without white space are data, such as pictures
_HEAD = 60
LONGEST_GIST = 160
_NO_WORDS = ("role", "type", "id", "tool_call_id", "tool_use_id", "call_id", "cache_control")
_SAID = ("user", "assistant", "tool", "function_call", "function_call_output")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A field of the request, such as its messages. Small fields are together in "parameters"."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A message, a tool or another field of a request.

    `number` is its position from 1. Pieces with equal `sign` are the same. `gist` is the beginning of its text.
    """

    number: int
    name: str
    text: str
    sign: str
    gist: str


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A request compared with the preceding one: `new` and `kept` pieces, and the number of removed ones."""

    new: Sequence[Piece]
    kept: Sequence[Piece]
    gone: int


def pieces_of(body: bytes) -> Sequence[Piece]:
    """Return the pieces of a request in the order of sending."""
    fields: dict[str, Any] = json.loads(body)
    small = {name: value for name, value in fields.items() if not isinstance(value, dict | list | str) or _fits(value)}
    found: list[tuple[str, Any]] = [("parameters", small)]
    for name, value in fields.items():
        if isinstance(value, list):
            found += [(_name(name, item), item) for item in value]
        elif name not in small:
            found.append((name, value))
    return [_piece(number, name, item) for number, (name, item) in enumerate(found, 1)]


def _fits(value: Any) -> bool:
    """Return whether a value fits into the line of a parameter, unlike a system prompt."""
    return isinstance(value, str) and len(value) <= LONGEST_GIST


def _piece(number: int, name: str, item: Any) -> Piece:
    gist = " ".join(" ".join(_words(item)).split())[:LONGEST_GIST].removeprefix(f"{name.removeprefix('tool ')} ")
    return Piece(number=number, name=name, text=text_of(item), sign=json.dumps(_without_marks(item)), gist=gist)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name not in _NO_WORDS:
                yield from _words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, str):
        yield value[:LONGEST_GIST]


def compared(earlier: bytes | None, later: bytes) -> Compared:
    """Compare two requests. Without an earlier one, messages count as new, tools and the system prompt do not."""
    pieces = pieces_of(later)
    if earlier is None:
        said = [piece for piece in pieces if piece.name in _SAID]
        return Compared(new=said, kept=[piece for piece in pieces if piece not in said], gone=0)
    before = Counter(piece.sign for piece in pieces_of(earlier))
    left = before.copy()
    new: list[Piece] = []
    kept: list[Piece] = []
    for piece in pieces:
        (kept if left[piece.sign] > 0 else new).append(piece)
        left[piece.sign] -= 1
    return Compared(new=new, kept=kept, gone=before.total() - len(kept))


def _name(field: str, item: Any) -> str:
    """Return the role of a message or the name of a tool."""
    if not isinstance(item, dict):
        return field
    tool = item.get("function", item)
    if field == "tools":
        return f"tool {tool.get('name', '')}"
    return str(item.get("role") or item.get("type") or field)


def _without_marks(value: Any) -> Any:
    """Remove cache marks, which move with each request."""
    if isinstance(value, dict):
        return {name: _without_marks(item) for name, item in value.items() if name != "cache_control"}
    return [_without_marks(item) for item in value] if isinstance(value, list) else value


def parts_of(body: bytes) -> Sequence[Part]:
    """Return the parts of a request in the order of sending."""
    fields: dict[str, Any] = json.loads(body)
    small = {name: value for name, value in fields.items() if not isinstance(value, dict | list)}
    large = [Part(name=name, text=text_of(value)) for name, value in fields.items() if name not in small]
    return [Part(name="parameters", text=text_of(small)), *large] if small else large


def difference(earlier: bytes, later: bytes) -> Sequence[tuple[str, str]]:
    """Return changed lines with some context, each with its kind: added, removed, place or same."""
    return changed_lines(_whole(earlier), _whole(later))


def changed_lines(before: str, after: str) -> Sequence[tuple[str, str]]:
    """Return the `difference` of two texts."""
    lines = diff.unified(before, after, "text")
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in lines.splitlines()[2:]]


def _whole(body: bytes) -> str:
    return "".join(f"{part.name}:\n{part.text}\n" for part in parts_of(body))


def text_of(value: Any) -> str:
    """Return a JSON value as lines of text."""
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
    """Yield a field, on one line if its value has one line."""
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


# --- the outline of old turns ----------------------------------------------------------------------------------------

_TAGS = "about|user|agent|asked|handoff|step|turns|omitted|note"
_BEGIN = r"(?:^|(?<=</asked>))"
_LINE = re.compile(rf'{_BEGIN}<({_TAGS})((?: \w+="[^"]*+")*+)>', re.MULTILINE)
_ATTRIBUTE = re.compile(r' (\w+)="([^"]*)"')
_LABELS = {
    "user": "The person",
    "agent": "The agent",
    "asked": "The agent asked",
    "handoff": "Handed on",
    "turns": "Steps",
    "step": "Step",
}


@dataclass(frozen=True, kw_only=True)
class OutlineLine:
    """A line of the outline. `seq` is its entry and `last` the end of a range of turns; 0 if there is none."""

    label: str
    text: str
    seq: int = 0
    last: int = 0
    status: str = ""


def lines_of(block: str) -> Iterator[OutlineLine]:
    """Yield the lines of the outline that replaces old turns. A line never contains one of our closing tags.

    Text outside of lines, such as a skill's, comes between them.
    """
    inside = block.removeprefix("<compacted_history>\n").removesuffix("\n</compacted_history>")
    place, unclosed = 0, set[str]()
    for opening in _LINE.finditer(inside):
        tag = opening[1]
        if opening.start() < place or tag in unclosed:
            continue
        end = inside.find(f"</{tag}>", opening.end())
        if end < 0:
            unclosed.add(tag)
            continue
        yield from _between(inside[place : opening.start()])
        place = end + len(f"</{tag}>")
        if tag != "about":
            yield _line(opening, inside[opening.end() : end])
    yield from _between(inside[place:])


def _between(text: str) -> Iterator[OutlineLine]:
    if text.strip():
        yield OutlineLine(label="Kept whole", text=text.strip())


def _line(opening: re.Match[str], text: str) -> OutlineLine:
    attributes = dict(_ATTRIBUTE.findall(opening[2]))
    return OutlineLine(
        label=_LABELS.get(opening[1], "Left out" if opening[1] == "omitted" else "Note"),
        text=text,
        seq=int(attributes.get("n") or attributes.get("from") or 0),
        last=int(attributes.get("to") or 0),
        status=attributes.get("status", ""),
    )
