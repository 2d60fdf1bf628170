"""Providers that refuse what real ones refuse: broken conversations, too much text, and invalid fields."""

import json
from typing import Any

from tests.provider import Answer, Received, Reply, openai_chunk, sse
from tests.strict_conversation import fault_in

BYTES_PER_TOKEN = 4


def tokens_of(received: Received) -> int:
    return len(received.raw) // BYTES_PER_TOKEN


def strict(answer: Answer, *, window: int) -> Answer:
    """Answer 400 to a broken conversation, and to one that exceeds `window` tokens with its reply."""

    def checked(received: Received) -> Reply:
        if fault := fault_in(received.body):
            return _refusal(fault, "invalid_request_error")
        if tokens_of(received) + received.body["max_tokens"] > window:
            return _refusal(f"{tokens_of(received)} tokens are too many", "context_length_exceeded")
        return answer(received)

    return checked


def like_gpt_5(answer: Answer) -> Answer:
    """Answer 400 to the fields that OpenAI's GPT-5 and o-series refuse in chat completions.

    Source: platform.openai.com/docs/api-reference/chat/create (max_tokens: "not compatible with o-series models") and
    /docs/guides/latest-model. The words are those of its answers, as in github.com/langgenius/dify/issues/24307 and
    github.com/tmc/langchaingo/issues/1355.
    """

    def checked(received: Received) -> Reply:
        body = received.body
        if "max_tokens" in body:
            why = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            return _refusal(f"Unsupported parameter: {why}", "unsupported_parameter")
        if wrong := _SAMPLING & body.keys():
            return _refusal(f"Unsupported parameter: {min(wrong)!r}", "unsupported_parameter")
        if body.get("temperature", 1) != 1:
            why = "'temperature' does not support this value. Only the default (1) value is supported."
            return _refusal(f"Unsupported value: {why}", "unsupported_value")
        return answer(received)

    return checked


_SAMPLING = {"top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "stop"}


def call(received: Received, name: str, arguments: dict[str, Any], call_id: str, *, words: str = "") -> Reply:
    """Return a native call, with the usage that this provider has counted. `words` come before it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    called = {"index": 0, "id": call_id, "type": "function", "function": function}
    usage = {"prompt_tokens": tokens_of(received), "completion_tokens": len(function["arguments"]) // BYTES_PER_TOKEN}
    events = [openai_chunk({"role": "assistant", "content": words})] if words else []
    events.append(openai_chunk({"role": "assistant", "tool_calls": [called]}))
    return Reply(chunks=sse(*events, openai_chunk({}, "tool_calls", usage=usage), "[DONE]"))


def _refusal(why: str, code: str) -> Reply:
    body = json.dumps({"error": {"message": why, "type": "invalid_request_error", "code": code}})
    return Reply(status=400, chunks=[body.encode()], content_type="application/json")
