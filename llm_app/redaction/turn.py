"""Redaction of a model's answer, before any other code sees it."""

import json
from dataclasses import replace

from llm_app.redaction.redactor import Redactor
from llm_app.types import LLMTurnResult, Thinking, ToolCall


def redacted_turn(turn: LLMTurnResult, redactor: Redactor) -> LLMTurnResult:
    """Return the redacted turn.

    Most turns contain no secret: checking all texts together is faster than checking each.
    """
    calls = [text for call in turn.tool_calls for text in (call.id, call.name, call.arguments)]
    texts = "\n".join([turn.content, turn.unreadable, turn.finish_reason, *calls])
    if turn.thinking is None and not has_escapes(texts) and redactor.is_clean(texts):
        return turn
    return replace(
        turn,
        content=redactor.redacted(turn.content),
        tool_calls=tuple(redacted_call(call, redactor) for call in turn.tool_calls),
        thinking=turn.thinking and redacted_thinking(turn.thinking, redactor),
        unreadable=redactor.redacted(turn.unreadable),
        finish_reason=redactor.redacted(turn.finish_reason),
    )


def redacted_call(call: ToolCall, redactor: Redactor) -> ToolCall:
    arguments = redacted_arguments(call.arguments, redactor)
    return ToolCall(id=redactor.redacted(call.id), name=redactor.redacted(call.name), arguments=arguments)


def redacted_thinking(thinking: Thinking, redactor: Redactor) -> Thinking:
    """Return the redacted thinking.

    Signed parts are removed if one needs redaction, because the signature would be invalid.
    """
    text = redactor.redacted(thinking.text)
    blocks = [dict(block) for block in thinking.blocks]
    if text == thinking.text and redactor.redacted_json(blocks) == blocks:
        return thinking
    return replace(thinking, text=text, blocks=())


def redacted_arguments(text: str, redactor: Redactor) -> str:
    """Return the redacted JSON text. Any character may be escaped, so a text with escapes is parsed first."""
    text = redactor.redacted(text)
    if not has_escapes(text):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    redacted = redactor.redacted_json(value)
    return text if redacted == value else json.dumps(redacted, ensure_ascii=False)


def has_escapes(text: str) -> bool:
    """Return whether the JSON text contains optional escapes: of any character, or of the slash."""
    return "\\u" in text or "\\/" in text
