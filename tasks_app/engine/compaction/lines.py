"""What stays of an old turn: one line of XML. Pure; the same turn gives the same line."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.models import ContextEntry, ContextType
from tasks_app.record import Turn
from tasks_app.record.turns import TurnKind

LONGEST_STEP = 160  # characters of what a step did, and again of what came of it
LONGEST_SKILL = 12_000  # characters of a skill's text that stays whole as long as it fits
LONGEST_WORDS = 600  # characters that stay of a person's words when nothing else helps: head and tail
_OURS = re.compile(
    r"<(\s*)/(?=\s*(?:about|user|agent|asked|handoff|step|turns|omitted|note|compacted_history|conversation)\b)",
    re.IGNORECASE,
)
_SENDER = re.compile(
    r"“([^”]{1,100}+)” has handed this conversation on"
)  # in the entry itself: its metadata is in no chain
Template = Callable[[str, Mapping[str, Any]], str]


@dataclass(frozen=True, kw_only=True)
class Line:
    """`first` and `last` are seqs of the turn. A step may be merged with its neighbours; `tool` is that of a step.
    `is_persons`: it holds words of a person.

    `short` is the same with less: of people's words head and tail, of a step what it did without what came of it.
    """

    text: str
    first: int
    last: int
    is_step: bool = False
    tool: str = ""
    short: str = ""
    is_persons: bool = False


def line_of(turn: Turn[ContextEntry], template: Template) -> Line:
    """`template` says in one line what a call was about: tool name and arguments in, text out."""
    first = turn.entries[0]
    if turn.kind is TurnKind.USER:
        return _words(turn, "user", first.content, date=f"{first.created_at:%Y-%m-%d}")
    if turn.kind is TurnKind.CALL:
        return _call(turn, first, template)
    if turn.kind is TurnKind.REPLY and first.context_type == ContextType.AI_MESSAGE:
        return _words(turn, "agent", first.content, type="interrupted")
    if turn.kind is TurnKind.REPLY and first.context_type == ContextType.CLIENT_HISTORY:
        return _words(turn, "agent", first.content, type="imported")
    kind = "a reply without a tool call" if turn.kind is TurnKind.REPLY else _cut(first.content)
    return Line(text=f'<note n="{first.seq}">{safe(kind)}</note>', first=first.seq, last=_last(turn), is_step=True)


def _call(turn: Turn[ContextEntry], call: ContextEntry, template: Template) -> Line:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    result = next((e for e in turn.entries if e.context_type == ContextType.TOOL_RESULT), None)
    if call.context_type == ContextType.AI_MESSAGE and arguments.get("type") == "result":
        return _words(turn, "agent", str(arguments.get("text", "")), type="result")
    if call.context_type == ContextType.AI_MESSAGE and arguments.get("type") == "ask" and result is not None:
        question = f"<asked>{safe(str(arguments.get('text', '')))}</asked>"
        return _words(turn, "user", result.content, before=question)
    if handoff := next((e for e in turn.entries if e.context_type == ContextType.HANDOFF), None):
        sender = found[1] if (found := _SENDER.search(handoff.content)) else "another agent"
        said = f"“{sender}” handed the conversation on to “{arguments.get('agent')}”: {arguments.get('note')}"
        return _words(turn, "handoff", said)
    name = (call.call or {})["name"]
    did = _cut(template(name, arguments))
    outcome = f" → {_cut(result.metadata.get('summary') or result.content)}" if result is not None else ""
    status = result.metadata.get("status", "") if result is not None else "open"
    number = result.seq if result is not None else call.seq
    if name == "skill" and result is not None and len(result.content) <= LONGEST_SKILL and status == "succeeded":
        again = f'<step n="{number}" status="{status}">{safe(did)}; load it again with `skill`</step>'
        return Line(text=safe(result.content), short=again, first=call.seq, last=_last(turn))
    text, short = (f'<step n="{number}" status="{status}">{safe(said)}</step>' for said in (did + outcome, did))
    return Line(text=text, short=short, first=call.seq, last=_last(turn), is_step=True, tool=name)


def _words(turn: Turn[ContextEntry], tag: str, words: str, *, before: str = "", **attributes: str) -> Line:
    """Words of a person, or a result: whole as long as they fit."""
    number = turn.entries[0].seq
    named = "".join(f' {name}="{value}"' for name, value in attributes.items())
    whole, short = (f'{before}<{tag} n="{number}"{named}>{safe(text)}</{tag}>' for text in (words, shortened(words)))
    return Line(text=whole, short=short, first=number, last=_last(turn), is_persons=tag == "user")


def merged(lines: Sequence[Line]) -> Line:
    """A run of steps as one line: how many there were, of which tools, and that they can be recalled."""
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.tool or "note"] = counts.get(line.tool or "note", 0) + 1
    tools = ", ".join(f"{name} ×{count}" for name, count in sorted(counts.items()))
    first, last = lines[0].first, lines[-1].last
    text = f'<turns from="{first}" to="{last}">{len(lines)} steps ({safe(tools)}); recall by number</turns>'
    return Line(text=text, first=first, last=last, is_step=True)


def shortened(words: str, longest: int = LONGEST_WORDS) -> str:
    """Head and tail of long words."""
    if len(words) <= longest:
        return words
    head, tail = words[: longest * 2 // 3], words[-longest // 3 :]
    return f"{head} [… {len(words) - longest} characters …] {tail}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_STEP else line[: LONGEST_STEP - 1] + "…"


def safe(text: str) -> str:
    """Our own closing tags cannot be closed from inside."""
    return _OURS.sub(r"<\1\\/", text)


def _last(turn: Turn[ContextEntry]) -> int:
    return turn.entries[-1].seq
