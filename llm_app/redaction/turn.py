"""A model's answer on its way in: nothing behind the door sees what it may have said of a secret."""

import json
from dataclasses import replace

from llm_app.redaction.masker import Masker
from llm_app.types import LLMTurnResult, Thinking, ToolCall


def masked_turn(turn: LLMTurnResult, masker: Masker) -> LLMTurnResult:
    return replace(
        turn,
        content=masker.masked(turn.content),
        tool_calls=tuple(masked_call(call, masker) for call in turn.tool_calls),
        thinking=turn.thinking and masked_thinking(turn.thinking, masker),
        unreadable=masker.masked(turn.unreadable),
        finish_reason=masker.masked(turn.finish_reason),
    )


def masked_call(call: ToolCall, masker: Masker) -> ToolCall:
    return ToolCall(
        id=masker.masked(call.id), name=masker.masked(call.name), arguments=_arguments(call.arguments, masker)
    )


def masked_thinking(thinking: Thinking, masker: Masker) -> Thinking:
    """Signed parts in which something must be masked are left out: their signature would no longer hold."""
    text = masker.masked(thinking.text)
    if text == thinking.text and _is_clean(thinking, masker):
        return thinking
    return replace(thinking, text=text, blocks=())


def _is_clean(thinking: Thinking, masker: Masker) -> bool:
    blocks = [dict(block) for block in thinking.blocks]
    return bool(masker.masked_json(blocks) == blocks)


def _arguments(text: str, masker: Masker) -> str:
    """The JSON text. Any character may stand in it as \\u0000, so what is written so is read before it is masked."""
    text = masker.masked(text)
    if "\\u" not in text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    masked = masker.masked_json(value)
    return text if masked == value else json.dumps(masked, ensure_ascii=False)
