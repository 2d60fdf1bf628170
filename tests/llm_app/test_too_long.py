"""Rejections of a conversation that is too long, in the words of the providers. They move the cut.

Sources: github.com/docker/docker-agent/issues/569 (Anthropic), vllm/v1/engine and vllm/renderers in
github.com/vllm-project/vllm, github.com/ggml-org/llama.cpp/pull/15780, platform.claude.com/docs/en/api/errors (413).
"""

import json

import pytest

from llm_app.errors import BadRequest, ContextTooLong
from llm_app.transport.http_errors import error_for

TOO_LONG = [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens.",
    "prompt is too long: 250017 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
    "The decoder prompt (length 5951) is longer than the maximum model length of 4096.",
    "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "The input token count (1100000) exceeds the maximum number of tokens allowed (1048575).",
    "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "the request exceeds the available context size, try increasing it",
    "However, the model is loaded with context length of only 4096 tokens and cannot continue.",
]
OTHERS = [
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    "max_tokens is too large: 100000. This model supports at most 4096 completion tokens.",
    "Invalid 'metadata.key': string too long. Expected at most 64 characters.",
]


def refused(words: str, status: int = 400) -> Exception:
    return error_for(status, json.dumps({"error": {"message": words}}))


@pytest.mark.parametrize("words", TOO_LONG)
def test_these_rejections_mean_too_long(words: str) -> None:
    assert type(refused(words)) is ContextTooLong


@pytest.mark.parametrize("words", OTHERS)
def test_these_rejections_have_another_reason(words: str) -> None:
    assert type(refused(words)) is BadRequest


def test_a_request_of_too_many_bytes_is_too_long() -> None:
    assert type(refused("Request exceeds the maximum size", 413)) is ContextTooLong
