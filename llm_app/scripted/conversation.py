"""What a scripted model reads out of a request: it keeps no memory of its own, so it survives every restart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_OURS = ("<", "[picture:")  # reminders, and the pictures of a result


@dataclass(frozen=True)
class Conversation:
    messages: Sequence[Mapping[str, Any]]
    tools: frozenset[str]
    model: str

    @classmethod
    def from_body(cls, body: bytes) -> "Conversation":
        request = orjson.loads(body)
        tools = frozenset(tool["function"]["name"] for tool in request.get("tools", ()))
        return cls(request["messages"], tools, request["model"])

    def spoken(self) -> list[tuple[int, str]]:
        """What people wrote: position and text; the engine's reminders are left out."""
        return [
            (position, words)
            for position, message in enumerate(self.messages)
            if message["role"] == "user" and not (words := _words(message["content"])).startswith(_OURS)
        ]

    def turns_after(self, position: int) -> int:
        """How many answers the model has given since the message at `position`."""
        return sum(message["role"] == "assistant" for message in self.messages[position:])

    def last_result(self) -> str:
        """The text of the newest tool result."""
        results = (m["content"] for m in reversed(self.messages) if m["role"] == "tool")
        return next(results, "")


def _words(content: Any) -> str:
    """Beside pictures, words are parts of a list."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
