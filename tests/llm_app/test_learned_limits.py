"""Limits in the words of providers: each is read from the rejection of a request that exceeds it."""

import json
from typing import Any

import pytest

from llm_app.call.learned_limits import named_limits
from llm_app.transport.http_errors import error_for
from tests.llm_app.test_learned_quirks import openai

PYDANTIC = {
    "type": "less_than_equal",
    "loc": ["body", "max_tokens"],
    "msg": "Input should be less than or equal to 4096",
}

# The words of a provider, the size that was asked for, and the limit that is learned.
OUTPUT: dict[str, tuple[Any, int, int]] = {
    "Anthropic": (
        openai("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-6"),
        *(100_000, 64_000),
    ),
    "Groq": (
        openai("`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens`"),
        32_000,
        16_384,
    ),
    "Groq, by model": (
        openai("max_tokens for `llama-3.1-8b-instant` must be less than or equal to 8000"),
        9_000,
        8_000,
    ),
    "OpenAI": (
        openai(
            "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000."
        ),
        *(6_000, 4_096),
    ),
    "OpenAI, responses": (
        openai(
            "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 instead."
        ),
        *(200_000, 128_000),
    ),
    "Xiaomi": (
        openai(
            "Param Incorrect", "max_tokens is too large: 1048576. This model supports at most 131072 completion tokens."
        ),
        *(1_048_576, 131_072),
    ),
    "DeepSeek": (openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"), 32_000, 8_192),
    "DashScope": (
        openai("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"),
        *(32_000, 8_192),
    ),
    "Volcengine": (
        openai(
            "The parameter max_tokens specified in the request is not valid: integer above maximum value, expected a "
            "value <= 32768, but got 64000 instead. Request id: 0217724325966514087c9e55f8b322b82cd17f72450d06e16ef7b"
        ),
        *(64_000, 32_768),
    ),
    "Bedrock": (
        {
            "message": "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens "
            "value that is lower than 4096."
        },
        *(8_192, 4_096),
    ),
    "Bedrock, text": (
        {"message": "Malformed input request: 8192 is not less or equal to 8191, please reformat"},
        8_192,
        8_191,
    ),
    "Vertex": (
        {
            "error": {
                "code": 400,
                "message": "Unable to submit request because it has a maxOutputTokens value of 65537 but the supported "
                "range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.",
                "status": "INVALID_ARGUMENT",
            }
        },
        *(65_537, 65_536),
    ),
    "Cohere": (
        {
            "message": "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model "
            "- received 32000."
        },
        *(32_000, 4_096),
    ),
    "pydantic": ({"detail": [PYDANTIC]}, 32_000, 4_096),
    "between": (openai("max_tokens must be between 1 and 16,384"), 32_000, 16_384),
    "below": (openai("max_completion_tokens must be less than 8193"), 32_000, 8_192),
    # The context window is named, and the output takes more than half of it: a quarter of it is left for the output.
    "vLLM": (
        openai(
            "max_tokens=32000 cannot be greater than max_model_len=max_total_tokens=8192. Please request fewer output tokens."
        ),
        *(32_000, 2_048),
    ),
    "vLLM, with the prompt": (
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 "
            "tokens and your request has 1300 input tokens (32000 > 32768 - 1300)."
        ),
        *(32_000, 8_192),
    ),
    "vLLM, newer": (
        openai(
            "This model's maximum context length is 131072 tokens. However, you requested 131072 output tokens and your "
            "prompt contains 14233 characters (more than 0 characters, which is the upper bound for 0 input tokens)."
        ),
        *(131_072, 32_768),
    ),
    "OpenAI, an earlier model": (
        openai(
            "This model's maximum context length is 4097 tokens. However, you requested 4500 tokens (500 in the messages, "
            "4000 in the completion). Please reduce the length of the messages or completion."
        ),
        *(4_000, 1_024),
    ),
    "text-generation-inference": (
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 38 `inputs` tokens and "
            "4096 `max_new_tokens`",
            "error_type": "validation",
        },
        *(4_096, 1_024),
    ),
}


@pytest.mark.parametrize("name", OUTPUT)
def test_the_limit_of_output_is_read(name: str) -> None:
    body, size, limit = OUTPUT[name]
    assert _limits(body, {"max_tokens": size}) == [("max_output_tokens", limit)]


@pytest.mark.parametrize(
    "words",
    [
        "prompt token count of 130513 exceeds the limit of 128000",
        "You passed 61441 input tokens and requested 4096 output tokens. However, the model's context length is only 65536 "
        "tokens, resulting in a maximum input length of 61440 tokens.",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`",
        "Range of input length should be [1, 202752]",
        "tokens in request more than max tokens allowed",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens",
        "max_tokens must be at least 16",
    ],
)
def test_a_prompt_that_is_too_long_teaches_no_limit(words: str) -> None:
    assert _limits(openai(words), {"max_tokens": 21_333}) == []


@pytest.mark.parametrize(
    ("words", "param", "limit"),
    [
        (
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 163.",
            "tools",
            128,
        ),
        ("'tools' : maximum number of items is 128", None, 128),
        (
            "* tools[0].function_declarations: [FIELD_INVALID] At most 64 function declarations can be specified.",
            None,
            64,
        ),
        ("Maximum tools limit reached. 163 tools have been provided but the maximum is 150.", None, 150),
        ("You may not include more than 128 tools in your request.", None, 128),
        ("Tool limit exceeded (163/128). Request rejected", None, 128),
        (
            "Invalid 'tools[3].function.name': string too long. Expected a string with maximum length 64, but got 65.",
            None,
            0,
        ),
        ("tools.0.custom.description: String should have at most 100 characters", None, 0),
        ("[{'function': {'description': 'At most 16 characters.'}}] is too long - 'tools'", None, 128),
    ],
)
def test_the_number_of_tools_is_read(words: str, param: str | None, limit: int) -> None:
    tools = [{"function": {"name": f"t{number}", "description": ""}} for number in range(163)]
    assert _limits(openai(words, param), {"tools": tools}) == ([("max_tools", limit)] if limit else [])


@pytest.mark.parametrize(
    "words",
    [
        "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a "
        "string with length 2000 instead.",
        "tools.0.custom.description: String should have at most 1024 characters",
        "'Reads at most 512 characters of a file.' is too long - 'tools.0.function.description'",
    ],
)
@pytest.mark.parametrize("is_argument", [False, True])
def test_the_length_of_descriptions_is_read(words: str, is_argument: bool) -> None:
    description = {"description": "a" * 2_000}
    function = {"parameters": {"properties": {"a": description}}} if is_argument else description
    assert _limits(openai(words), {"tools": [{"function": function}]}) == [("description_limit", 1_024)]


def _limits(body: Any, request: dict[str, Any]) -> list[tuple[str, int]]:
    return [(limit.quirk, limit.value) for limit in named_limits(error_for(400, json.dumps(body)), request)]
