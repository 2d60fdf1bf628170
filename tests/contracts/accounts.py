"""Providers whose sealed thinking belongs to an account: they refuse what another account has sealed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.contracts.contract import Contract, Refusal
from tests.contracts.said import Said
from tests.provider import Reply

_NAMES = ("signature", "encrypted_content", "thought_signature")
_PLACEHOLDER = "skip_thought_signature_validator"  # Gemini's, for calls of other models
# Sources: github.com/anthropics/anthropic-sdk-python/issues/1598, github.com/openai/codex/issues/3573,
# github.com/alphaXiv/agents/pull/61 (a signature of AI Studio at Vertex).
_REFUSALS = {
    "signature": Refusal(message="messages.1.content.0: Invalid `signature` in `thinking` block"),
    "encrypted_content": Refusal(
        message="The encrypted content could not be verified.", code="invalid_encrypted_content"
    ),
    "thought_signature": Refusal(message="Corrupted thought signature.", type="INVALID_ARGUMENT"),
}


@dataclass
class Account:
    """An account behind a contract. `sealed` are the sealed parts that it has sent."""

    contract: Contract
    sealed: set[str] = field(default_factory=set)

    @property
    def bound(self) -> Contract:
        """The contract with the rule that sealed parts are this account's."""
        return replace(self.contract, rules=(*self.contract.rules, self._refusal), answer=self._answer)

    def _answer(self, said: Said, body: Any) -> Reply:
        reply = self.contract.answer(said, body)
        lines = (line for chunk in reply.chunks if isinstance(chunk, bytes) for line in chunk.decode().splitlines())
        for line in lines:
            if line.startswith("data: {"):
                self.sealed.update(value for _, value in _sealed(json.loads(line.removeprefix("data: "))))
        return reply

    def _refusal(self, body: Any, headers: Mapping[str, str]) -> Refusal | None:
        foreign = (name for name, value in _sealed(body) if value not in self.sealed and value != _PLACEHOLDER)
        return next((_REFUSALS[name] for name in foreign), None)


def _sealed(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the names and values of sealed parts."""
    if isinstance(value, list):
        for item in value:
            yield from _sealed(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _NAMES and isinstance(item, str) and item:
                yield name, item
            else:
                yield from _sealed(item)
