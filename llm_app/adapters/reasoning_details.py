"""`reasoning_details`: thinking in parts with signatures, as OpenRouter streams them and wants them back."""

from collections.abc import Mapping
from typing import Any

from llm_app.adapters.reading import count, objects, text
from llm_app.text_calls.pieces import whole

_GROWING = ("text", "summary", "data")  # come in pieces; of all other fields the last one counts


class ReasoningDetails:
    """Joins the pieces of each part, told apart by index and type."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, str], dict[str, Any]] = {}

    def add(self, value: object) -> str:
        """Takes the details of one chunk; returns what is readable of them."""
        readable = []
        for piece in objects(value):
            part = self._parts.setdefault((count(piece.get("index")), text(piece.get("type"))), {})
            for name, field in piece.items():
                if name in _GROWING:
                    part[name] = text(part.get(name)) + text(field)
                elif field is not None or name not in part:
                    part[name] = field
            readable += [text(piece.get("text")), text(piece.get("summary"))]
        return "".join(readable)

    def parts(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(
            {name: whole(field) if isinstance(field, str) else field for name, field in part.items()}
            for part in self._parts.values()
        )
