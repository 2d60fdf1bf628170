"""The conversation as a scripted model reads it from a request.

The model has no other state, so it survives restarts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_LINE = re.compile(r"<(user|agent|asked|step|turns)\b[^<>]*+>")
_STEPS = re.compile(r"(\d+) steps?\b")
_OURS = ("<", "[picture:")  # beginnings of reminders and of a result's pictures


@dataclass(frozen=True)
class Conversation:
    messages: Sequence[Mapping[str, Any]]
    tools: frozenset[str]
    model: str

    @classmethod
    def from_body(cls, body: bytes) -> "Conversation":
        request = orjson.loads(body)
        tools = frozenset(tool["function"]["name"] for tool in request.get("tools", ()))
        messages = [told for message in request["messages"] for told in _told(message)]
        return cls(messages, tools, request["model"])

    def spoken(self) -> list[tuple[int, str]]:
        """Return positions and texts of messages that users wrote, without the engine's reminders."""
        return [
            (position, words)
            for position, message in enumerate(self.messages)
            if message["role"] == "user" and not (words := _words(message["content"])).startswith(_OURS)
        ]

    def turns_after(self, position: int) -> int:
        """Return the number of replies since the message at a position."""
        return sum(message["role"] == "assistant" for message in self.messages[position:])

    def last_result(self) -> str:
        """Return the text of the newest tool result."""
        results = (m["content"] for m in reversed(self.messages) if m["role"] == "tool")
        return next(results, "")


def _told(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a message, or the messages that the outline of a compacted conversation describes."""
    if message["role"] != "user" or not (words := _words(message["content"])).startswith("<compacted_history>"):
        yield message
        return
    place, unclosed = 0, set[str]()
    for line in _LINE.finditer(words):
        tag = line[1]
        if line.start() < place or tag in unclosed:
            continue
        place = max(place, words.find(f"</{tag}>", line.end()))
        if place < line.end():
            unclosed.add(tag)
            continue
        content = words[line.end() : place]
        if tag == "user":
            yield {"role": "user", "content": content}
        else:
            count = _STEPS.match(content) if tag == "turns" else None
            yield from [{"role": "assistant", "content": ""}] * (int(count[1]) if count else 1)


def _words(content: Any) -> str:
    """Return the text of a content, which is a list of parts if there are pictures."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
