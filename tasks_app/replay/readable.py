"""A readable form of requests: their parts, a comparison with the preceding request, and the outline of old turns."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.editing import diff

MAX_TEXT_CHARS = 200_000  # characters per text; the download has everything
_DATA_CHARS = 2_000  # longer strings without white space are data, such as pictures
_DATA_PREVIEW_CHARS = 60
MAX_GIST_CHARS = 160
_IGNORED_FIELDS = ("role", "type", "id", "tool_call_id", "tool_use_id", "call_id", "cache_control")
_MESSAGE_NAMES = ("user", "assistant", "tool", "function_call", "function_call_output")


@dataclass(frozen=True, kw_only=True)
class RequestField:
    """A field of the request, such as its messages. Small fields are together in "parameters"."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class RequestItem:
    """A message, a tool or another field of a request.

    `number` is its position from 1. Items with equal `fingerprint` are the same. `gist` is the beginning of its text.
    """

    number: int
    name: str
    text: str
    fingerprint: str
    gist: str


@dataclass(frozen=True, kw_only=True)
class RequestComparison:
    """A request compared with the preceding one: `new` and `kept` items, and the number of removed ones."""

    new: Sequence[RequestItem]
    kept: Sequence[RequestItem]
    gone: int


def request_items(body: bytes) -> Sequence[RequestItem]:
    """Return the items of a request in the order of sending."""
    fields: dict[str, Any] = json.loads(body)
    parameters = {
        name: value
        for name, value in fields.items()
        if not isinstance(value, dict | list | str) or _is_short_text(value)
    }
    named_values: list[tuple[str, Any]] = [("parameters", parameters)]
    for name, value in fields.items():
        if isinstance(value, list):
            named_values += [(_name(name, item), item) for item in value]
        elif name not in parameters:
            named_values.append((name, value))
    items = []
    for number, (name, value) in enumerate(named_values, 1):
        words = " ".join(" ".join(_strings(value)).split())
        gist = words[:MAX_GIST_CHARS].removeprefix(f"{name.removeprefix('tool ')} ")
        fingerprint = json.dumps(_without_cache_marks(value))
        items.append(RequestItem(number=number, name=name, text=text_of(value), fingerprint=fingerprint, gist=gist))
    return items


def _is_short_text(value: Any) -> bool:
    """Return whether a value fits into the line of a parameter, unlike a system prompt."""
    return isinstance(value, str) and len(value) <= MAX_GIST_CHARS


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name not in _IGNORED_FIELDS:
                yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value[:MAX_GIST_CHARS]


def compare(earlier: bytes | None, later: bytes) -> RequestComparison:
    """Compare two requests. Without an earlier one, messages count as new, tools and the system prompt do not."""
    items = request_items(later)
    if earlier is None:
        messages = [item for item in items if item.name in _MESSAGE_NAMES]
        return RequestComparison(new=messages, kept=[item for item in items if item not in messages], gone=0)
    before = Counter(item.fingerprint for item in request_items(earlier))
    unmatched = before.copy()
    new: list[RequestItem] = []
    kept: list[RequestItem] = []
    for item in items:
        (kept if unmatched[item.fingerprint] > 0 else new).append(item)
        unmatched[item.fingerprint] -= 1
    return RequestComparison(new=new, kept=kept, gone=before.total() - len(kept))


def _name(field: str, item: Any) -> str:
    """Return the role of a message or the name of a tool."""
    if not isinstance(item, dict):
        return field
    tool = item.get("function", item)
    if field == "tools":
        return f"tool {tool.get('name', '')}"
    return str(item.get("role") or item.get("type") or field)


def _without_cache_marks(value: Any) -> Any:
    """Remove cache marks, which move with each request."""
    if isinstance(value, dict):
        return {name: _without_cache_marks(item) for name, item in value.items() if name != "cache_control"}
    return [_without_cache_marks(item) for item in value] if isinstance(value, list) else value


def request_fields(body: bytes) -> Sequence[RequestField]:
    """Return the parts of a request in the order of sending."""
    fields: dict[str, Any] = json.loads(body)
    parameters = {name: value for name, value in fields.items() if not isinstance(value, dict | list)}
    other_fields = [
        RequestField(name=name, text=text_of(value)) for name, value in fields.items() if name not in parameters
    ]
    return [RequestField(name="parameters", text=text_of(parameters)), *other_fields] if parameters else other_fields


def difference(earlier: bytes, later: bytes) -> Sequence[tuple[str, str]]:
    """Return changed lines with some context, each with its kind: added, removed, place or same."""
    return changed_lines(_full_text(earlier), _full_text(later))


def changed_lines(before: str, after: str) -> Sequence[tuple[str, str]]:
    """Return the `difference` of two texts."""
    lines = diff.unified(before, after, "text")
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in lines.splitlines()[2:]]


def _full_text(body: bytes) -> str:
    return "".join(f"{field.name}:\n{field.text}\n" for field in request_fields(body))


def text_of(value: Any) -> str:
    """Return a JSON value as lines of text."""
    return "\n".join(_lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _field(f"{name}:", item)
    elif isinstance(value, list):
        for item in value:
            first, *others = list(_lines(item)) or [""]
            yield f"- {first}".rstrip()
            yield from (f"  {line}" for line in others)
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


def _scalar(value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield json.dumps(value)
    elif len(value) > _DATA_CHARS and not any(map(str.isspace, value)):
        yield f"{value[:_DATA_PREVIEW_CHARS]}… [{len(value):,} characters of data]"
    else:
        yield from (value[:MAX_TEXT_CHARS].split("\n") if value else ['""'])
        if len(value) > MAX_TEXT_CHARS:
            yield f"[… {len(value) - MAX_TEXT_CHARS:,} more characters]"


# --- the outline of old turns ----------------------------------------------------------------------------------------

_TAGS = "about|user|agent|asked|handoff|step|turns|omitted|note|plan"
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
    "plan": "Plan",
}


@dataclass(frozen=True, kw_only=True)
class OutlineLine:
    """A line of the outline. `seq` is its entry and `last` the end of a range of turns; 0 if there is none."""

    label: str
    text: str
    seq: int = 0
    last: int = 0
    status: str = ""


def outline_lines(block: str) -> Iterator[OutlineLine]:
    """Yield the lines of the outline that replaces old turns. A line never contains one of our closing tags.

    Text outside of lines, such as a skill's, comes between them.
    """
    text = block.removeprefix("<compacted_history>\n").removesuffix("\n</compacted_history>")
    position, unclosed = 0, set[str]()
    for opening in _LINE.finditer(text):
        tag = opening[1]
        if opening.start() < position or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", opening.end())
        if end < 0:
            unclosed.add(tag)
            continue
        yield from _between(text[position : opening.start()])
        position = end + len(f"</{tag}>")
        if tag != "about":
            yield _line(opening, text[opening.end() : end])
    yield from _between(text[position:])


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
