"""Limits that a rejection names: of output tokens, of tools, and of the characters of a description.

A limit is learned if the rejection is about that size, and names a smaller number than the request had.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llm_app.errors import ContextTooLong, LLMError

_NUMBER = r"(?<![\w.-])(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?![\w-]|\.\d)"
_AT_MOST = (
    r"<=|≤|(?:less|lower|smaller|fewer)(?: than)? or equal(?: to)?|at most|no more than|not exceed|exceeds"
    r"|not (?:be )?(?:greater|larger|more|higher|include more) than|up to|\bmaximum\b|\bmax\b|\blimit(?:ed)?\b"
    r"|不能超过|不得超过|最大"
)
_BELOW = r"(?:less|lower|smaller|fewer) than(?! or)|below"
# Ends of a range. DashScope and DeepSeek: "[1, 8192]", others "between 1 and 8192" or "1-8192".
_RANGE = re.compile(rf"(?<![\w.-])[012]\s*(?:,|-|~|–|to|and)\s*{_NUMBER}\s*(\)|\(exclusive\))?")
# Vertex: "from 1 (inclusive) to 65537 (exclusive)", as in github.com/BerriAI/litellm/pull/10548.
_EXCLUSIVE_END = re.compile(rf"{_NUMBER}\s*\(exclusive\)")
# xAI names the number of tools that it received first: "Maximum tools limit reached. 163 tools have been provided".
_RECEIVED = r"(?! \w{1,20} (?:have|has|were|was) (?:been )?(?:provided|given|sent|received))"
_UPPER_BOUND = re.compile(
    rf"(?:(?P<below>{_BELOW})|{_AT_MOST})(?:(?!at least|minimum)[^\d]){{0,60}}?{_NUMBER}{_RECEIVED}"
)

# Words for the limit of output. Sources: the answers of OpenAI and Xiaomi in github.com/AQBot-Desktop/AQBot/issues/93,
# of Groq in github.com/skapadia3214/groq-moa/issues/8, of DashScope in github.com/open-webui/open-webui/issues/10507,
# of DeepSeek in github.com/deepseek-ai/DeepSeek-V3/issues/69, of Volcengine in github.com/yiliqi78/TOKENICODE/issues/3,
# of Bedrock ("maximum tokens") in github.com/vercel/ai/issues/2772, and of Vertex ("maxOutputTokens") in
# github.com/BerriAI/litellm/pull/10548. Cohere has "max tokens", text-generation-inference "max_new_tokens".
_OUTPUT = re.compile(
    r"max[_ ]?(?:completion|output|new|gen)?[_ ]?tokens|maximum (?:output |completion )?tokens"
    r"|(?:output|completion|generated) tokens|(?:in|for) the (?:completion|output)|num_predict"
)
_OUTPUT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# The context window, where the output alone takes most of it: vLLM, SGLang, OpenRouter, Anthropic, and
# text-generation-inference, in the order of their forms.
_WINDOW = re.compile(
    rf"context limit: \d+ \+ \d+ > {_NUMBER}"
    rf"|(?:context (?:length|window|size)|max_model_len|max_total_tokens|max_seq_len)[^\d]{{0,40}}?{_NUMBER}"
    rf"|max_new_tokens\W+must be <= {_NUMBER}"
)
_LEAST_TOKENS = 16
# Words for the number of tools. Sources: the answers of OpenAI in github.com/vishalmysore/Tools4AI/issues/16, of Groq
# in github.com/gsd-build/gsd-2/issues/4376, of Gemini in github.com/google-gemini/gemini-cli/issues/19083, of xAI in
# github.com/anomalyco/opencode/issues/28911, and of Copilot in github.com/microsoft/vscode/issues/254189.
_TOOLS = re.compile(r"\btools?\b|\bfunctions?\b|function[ _]declarations")
_NOT_THEIR_NUMBER = re.compile(r"\b(?:string|characters|chars|name|names|description|parameters|schema|tokens|enum)\b")
# Sources: the answer of OpenAI in github.com/probelabs/probe/issues/9; pydantic has "String should have at most".
_DESCRIPTION = re.compile(r"description")
# OpenAI's earlier API and Azure repeat the value and name no limit: "'…' is too long - 'tools.13.function.description'"
_TOO_LONG = re.compile(r"is too long - '([\w.\[\]]+)'")
_USUAL_DESCRIPTION, _USUAL_TOOLS = 1_024, 128
_TEXT = re.compile(r"string|character|chars|length|long")


@dataclass(frozen=True, kw_only=True)
class NamedLimit:
    """A limit of a provider: the quirk that applies it, and the field that was rejected."""

    field: str
    quirk: str
    value: int


def named_limits(error: LLMError, request: Mapping[str, Any]) -> Iterator[NamedLimit]:
    """Yield the limits that the rejection of a request names."""
    text = f"{error.param.lower()} {error.text}"
    is_prompt_too_long = isinstance(error, ContextTooLong)
    if (limit := _output_limit(text, request, is_prompt_too_long=is_prompt_too_long)) is not None:
        yield NamedLimit(field="max_tokens", quirk="max_output_tokens", value=limit)
    tools = [tool for tool in request.get("tools", ()) if isinstance(tool, dict)]
    if too_long := _TOO_LONG.search(text):
        if too_long[1].endswith("description") and _longest_description(tools) > _USUAL_DESCRIPTION:
            yield NamedLimit(field="description", quirk="description_limit", value=_USUAL_DESCRIPTION)
        elif too_long[1] == "tools" and len(tools) > _USUAL_TOOLS:
            yield NamedLimit(field="tools", quirk="max_tools", value=_USUAL_TOOLS)
    elif _DESCRIPTION.search(text) and _TEXT.search(text):
        if limit := _smaller_number(text, _longest_description(tools)):
            yield NamedLimit(field="description", quirk="description_limit", value=limit)
    elif _TOOLS.search(text) and not _NOT_THEIR_NUMBER.search(text) and (limit := _smaller_number(text, len(tools))):
        yield NamedLimit(field="tools", quirk="max_tools", value=limit)


def _output_limit(text: str, request: Mapping[str, Any], *, is_prompt_too_long: bool) -> int | None:
    """Return the named limit of output tokens. The rejection may name the context window instead.

    Then a quarter of the window is left for the output. If the output took less than half of it, the prompt was too
    long.
    """
    requested = max((size for name in _OUTPUT_FIELDS if isinstance(size := request.get(name), int)), default=0)
    # Bedrock: "8192 is not less or equal to 8191" (github.com/langchain-ai/langchain/issues/9697).
    if not _OUTPUT.search(text) and f"{requested} is not less" not in text:
        return None
    if match := _WINDOW.search(text):
        window = _as_int(next(filter(None, match.groups())))
        return window // 4 if requested > window // 2 and window // 4 >= _LEAST_TOKENS else None
    if is_prompt_too_long:  # a number may be a code: Z.ai's 1210, "tokens in request more than max tokens allowed"
        return None
    limit = _smaller_number(text, requested)
    return limit if limit >= _LEAST_TOKENS else None


def _smaller_number(text: str, size: int) -> int:
    """Return the largest accepted size that a text names, or 0. It is smaller than the rejected size."""
    for match in _RANGE.finditer(text):
        limit = _as_int(match[1]) - bool(match[2])
        if 1 < limit < size:
            return limit
    if (end := _EXCLUSIVE_END.search(text)) and 1 < _as_int(end[1]) <= size:
        return _as_int(end[1]) - 1
    # Anthropic: "100000 > 64000", Copilot: "184/128".
    compared = re.search(rf"(?<!\d){size}\s*(?:>|/)\s*{_NUMBER}", text)
    if compared and 1 < _as_int(compared[1]) < size:
        return _as_int(compared[1])
    # Fireworks: "Requests with max_tokens > 16384 are not supported".
    unsupported = re.search(rf">=? ?{_NUMBER} (?:is|are) not (?:supported|allowed)", text)
    if unsupported and 1 < _as_int(unsupported[1]) < size:
        return _as_int(unsupported[1])
    for match in _UPPER_BOUND.finditer(text):
        limit = _as_int(match[2]) - bool(match["below"])
        if 1 < limit < size:
            return limit
    return 0


def _as_int(digits: str) -> int:
    return int(digits.replace(",", ""))


def _longest_description(schema: Any) -> int:
    """Return the length of the longest description in a declaration."""
    if isinstance(schema, list):
        return max(map(_longest_description, schema), default=0)
    if not isinstance(schema, dict):
        return 0
    own = len(text) if isinstance(text := schema.get("description"), str) else 0
    return max(own, *(_longest_description(inner) for inner in schema.values())) if schema else own
