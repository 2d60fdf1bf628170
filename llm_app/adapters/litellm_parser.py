"""litellm's chunks: those of openai_native, and beside them the signed parts of a model's thinking."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.adapters.reading import objects, text
from llm_app.types import Delta


class LiteLLMParser(OpenAIParser):
    protocol = "litellm"

    def __init__(self, model: str, tools: Collection[str] = ()) -> None:
        super().__init__(model, tools)
        self._blocks: list[dict[str, Any]] = []

    def _delta(self, delta: dict[str, Any]) -> Iterator[Delta]:
        for piece in objects(delta.get("thinking_blocks")):
            self._collect(piece)
        yield from super()._delta(delta)

    def _collect(self, piece: dict[str, Any]) -> None:
        """A block comes in pieces; its signature ends it."""
        last = self._blocks[-1] if self._blocks else {}
        if piece.get("type") == last.get("type") == "thinking" and not last["signature"]:
            last["thinking"] += text(piece.get("thinking"))
            last["signature"] = text(piece.get("signature"))
        elif piece.get("type") == "thinking":
            fields = {name: text(piece.get(name)) for name in ("thinking", "signature")}
            self._blocks.append({"type": "thinking", **fields})
        else:
            self._blocks.append(piece)

    def _signed(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(block for block in self._blocks if block.get("signature") or block.get("data"))
