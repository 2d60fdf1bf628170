"""Signed thinking on its way back, and whether a conversation allows more of it."""

from collections.abc import Sequence
from typing import Any

from llm_app.types import Message


def signed_blocks(message: Message, model: str, protocol: str = "anthropic") -> list[dict[str, Any]]:
    """The blocks that go before a call, unchanged: only to the protocol and the model they came from."""
    return own_blocks(message, model, protocol) if message.tool_call else []


def own_blocks(message: Message, model: str, protocol: str) -> list[dict[str, Any]]:
    """The signed parts of a message's thinking, if they came from this protocol and model."""
    thinking = message.thinking
    if thinking is None or not thinking.is_from(protocol, model):
        return []
    return [dict(block) for block in thinking.blocks]


def thinking_fits(messages: Sequence[Message], model: str, protocol: str = "anthropic") -> bool:
    """Whether this request may ask for thinking.

    The protocol refuses it while the assistant's turn (all since the last words of a user) began with a call without
    signed thinking: one of another model, say, or one whose thinking was redacted. Words of a user right after a result
    may be taken for part of it, so the turn before them must fit as well.
    """
    for place in range(len(messages) - 1, -1, -1):
        message, before = messages[place], messages[place - 1] if place else None
        follows_result = before is not None and before.role == "tool"
        if message.role == "user" and not follows_result:
            return True
        begins_turn = message.tool_call is not None and not follows_result
        if begins_turn and not signed_blocks(message, model, protocol):
            return False
    return True
