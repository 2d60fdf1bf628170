"""Rejections of a conversation that is too long, in the words of the providers. They move the cut.

Sources: github.com/docker/docker-agent/issues/569 (Anthropic), vllm/v1/engine and vllm/renderers in
github.com/vllm-project/vllm, github.com/ggml-org/llama.cpp/pull/15780, platform.claude.com/docs/en/api/errors (413).
"""

import json

import pytest

from llm_app.errors import BadRequest, ContextTooLong, Overloaded
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
    "You passed 61441 input tokens. However, the model's context length is only 65536 tokens.",
    "The engine prompt length 1340000 exceeds the max_model_len 32768. Please reduce prompt.",
    "Input length (265330 tokens) exceeds the maximum allowed length (262144 tokens).",
    "Input length 200000 exceeds the maximum allowed input length of 131072 tokens.",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 262301)",
    "total message size 4294905 exceeds limit 4194304",
    "prompt token count of 130513 exceeds the limit of 128000",
    "prompt too long; exceeded max context length by 5 tokens",
    "Please reduce the length of the messages or completion.",
    "tokens in request more than max tokens allowed",
    "Prompt exceeds max length",
    "Prompt 超长",
    "invalid params, context window exceeds limit (2013)",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202752]",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "Requested tokens (2285) exceed context window of 2048",
    "length of prompt_tokens (33000) must be less than max_seq_len (32768).",
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Total tokens of image and text exceed max message tokens",
    "Your conversation is longer than the 200,000 token window of this model.",
    "Context size has been exceeded.",
    "Request payload is 1156789 bytes, over the 1092616 byte limit",
    "'max_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879.",
    "Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 37313. The input or output tokens must "
    "be reduced in order to run successfully.",
]
OTHERS = [
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    "max_tokens is too large: 100000. This model supports at most 4096 completion tokens.",
    "Invalid 'metadata.key': string too long. Expected at most 64 characters.",
    "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one with length 130.",
    "`max_tokens` must be less than or equal to `32768`: it is less than the `context_window` for this model",
    "Range of max_tokens should be [1, 8192]",
    "messages.3.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "No endpoints found that support the provided 'tool_choice' value.",
    "Unsupported parameter: 'tool_choice' is not supported with this model.",
]
OVERLOADS = [
    "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000. Try again in 6s.",
    "Too many tokens, please wait before trying again.",
    "Your requests have exceeded token rate limit of your current pricing tier. Please retry after 6 seconds.",
    "This request would exceed your account's rate limit. Please try again later.",
]


def refused(words: str, status: int = 400) -> Exception:
    return error_for(status, json.dumps({"error": {"message": words}}))


@pytest.mark.parametrize("status", [400, 413, 422, 429, 500])
@pytest.mark.parametrize("words", TOO_LONG)
def test_these_rejections_mean_too_long(words: str, status: int) -> None:
    assert type(refused(words, status)) is ContextTooLong


@pytest.mark.parametrize("words", TOO_LONG)
def test_the_words_of_a_passed_on_error_count(words: str) -> None:
    """OpenRouter passes on the error of its provider as text: github.com/charmbracelet/crush/issues/279."""
    raw = json.dumps({"error": {"message": words, "code": 400}})
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "X"}}
    assert type(error_for(400, json.dumps({"error": error}))) is ContextTooLong


@pytest.mark.parametrize("words", OVERLOADS)
def test_a_limit_of_a_minute_is_an_overload(words: str) -> None:
    assert type(refused(words, 429)) is Overloaded


@pytest.mark.parametrize("words", OTHERS)
def test_these_rejections_have_another_reason(words: str) -> None:
    assert type(refused(words)) is BadRequest


def test_a_request_of_too_many_bytes_is_too_long() -> None:
    assert type(refused("Request exceeds the maximum size", 413)) is ContextTooLong
