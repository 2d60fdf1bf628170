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
_CALLS = re.compile(r'<step\b[^<>]* calls="(\d+)"')
_OURS = ("<", "[picture:")  # beginnings of reminders and of a result's pictures


@dataclass(frozen=True)
class ScriptedConversation:
    messages: Sequence[Mapping[str, Any]]
    tools: frozenset[str]
    model: str

    @classmethod
    def from_body(cls, body: bytes) -> "ScriptedConversation":
        request = orjson.loads(body)
        tools = frozenset(tool["function"]["name"] for tool in request.get("tools", ()))
        messages = [expanded for message in request["messages"] for expanded in _expanded_outline(message)]
        return cls(messages, tools, request["model"])

    def user_messages(self) -> list[tuple[int, str]]:
        """Return positions and texts of messages that users wrote, without the engine's reminders."""
        return [
            (position, text)
            for position, message in enumerate(self.messages)
            if message["role"] == "user" and not (text := _text_of(message["content"])).startswith(_OURS)
        ]

    def turns_after(self, position: int) -> int:
        """Return the number of replies since the message at a position."""
        return sum(message["role"] == "assistant" for message in self.messages[position:])

    def last_result(self) -> str:
        """Return the text of the newest tool result."""
        results = (m["content"] for m in reversed(self.messages) if m["role"] == "tool")
        return next(results, "")


def _expanded_outline(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a message, or the messages that the outline of a compacted conversation describes."""
    if message["role"] != "user" or not (text := _text_of(message["content"])).startswith("<compacted_history>"):
        yield message
        return
    position, unclosed_tags = 0, set[str]()
    for line in _LINE.finditer(text):
        tag = line[1]
        if line.start() < position or tag in unclosed_tags:
            continue
        position = max(position, text.find(f"</{tag}>", line.end()))
        if position < line.end():
            unclosed_tags.add(tag)
            continue
        content = text[line.end() : position]
        if tag == "user":
            yield {"role": "user", "content": content}
        else:
            count = _STEPS.match(content) if tag == "turns" else _CALLS.match(line[0])
            yield from [{"role": "assistant", "content": ""}] * (int(count[1]) if count else 1)


def _text_of(content: Any) -> str:
    """Return the text of a content, which is a list of parts if there are pictures."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
