"""OpenAI chat completions: GPT-5 and the o-series, and GPT-4.1, which accepts what these reject."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.contracts.contract import Contract, Refusal
from tests.contracts.openai_messages import call_ids, contents, pairs, tool_calls
from tests.contracts.openai_stream import chat_answer, openai_error
from tests.contracts.openai_tools import bad_reply_schema, bad_tool, unknown_parameter

_FIELDS = frozenset(
    {"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n",
     "stop", "seed", "user", "logprobs", "top_logprobs", "logit_bias", "presence_penalty", "frequency_penalty",
     "response_format", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "verbosity", "metadata",
     "store", "service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "prediction",
     "modalities", "audio", "web_search_options", "functions", "function_call"}
)  # fmt: skip
_SAMPLING = ("top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "stop")


def reasons(model: str) -> bool:
    return bool(re.match(r"(o\d|gpt-[5-9])", model))


def key(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: platform.openai.com/docs/guides/error-codes (401)."""
    if headers.get("Authorization", "").startswith("Bearer "):
        return None
    return Refusal(status=401, message="You didn't provide an API key.")


def known_parameters(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: github.com/teabranch/open-responses-server/issues/41."""
    return unknown_parameter(body, _FIELDS)


def limits_and_sampling(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/microsoft/vscode-copilot-release/issues/9954 (max_tokens),
    github.com/decolua/9router/issues/560 (temperature), platform.openai.com/docs/guides/latest-model (sampling
    parameters of GPT-5.1 and 5.2 only with reasoning effort none)."""
    model = body.get("model", "")
    if not reasons(model):
        return None
    if "max_tokens" in body:
        return unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    if re.match(r"gpt-5\.\d", model) and body.get("reasoning_effort") == "none":
        return None
    if wrong := next((name for name in _SAMPLING if name in body), ""):
        return unsupported(wrong)
    if body.get("temperature", 1) != 1:
        why = f"does not support {body['temperature']} with this model. Only the default (1) value is supported."
        return unsupported_value("temperature", why)
    return None


def unsupported(param: str, hint: str = "") -> Refusal:
    words = f"Unsupported parameter: '{param}' is not supported with this model.{hint}"
    return Refusal(message=words, param=param, code="unsupported_parameter")


def unsupported_value(param: str, why: str) -> Refusal:
    return Refusal(message=f"Unsupported value: '{param}' {why}", param=param, code="unsupported_value")


def efforts_of(model: str) -> tuple[str, ...]:
    """Sources: platform.openai.com/docs/guides/reasoning; github.com/livekit/agents/pull/3966 (5.1 has none, not
    minimal); github.com/stdapi-ai/stdapi.ai/issues/8 (5.2 has xhigh)."""
    if re.match(r"gpt-(5\.[2-9]|[6-9])", model):
        return ("none", "low", "medium", "high", "xhigh")
    if model.startswith("gpt-5.1"):
        return ("none", "low", "medium", "high")
    return ("minimal", "low", "medium", "high") if model.startswith("gpt-5") else ("low", "medium", "high")


def reasoning_effort(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/openai/openai-openapi/issues/541, github.com/pipecat-ai/pipecat/issues/4043 (GPT-5.4 not with
    tools), github.com/BerriAI/litellm/pull/34569 (from GPT-5.6 on, it must be none with tools).
    """
    effort, model = body.get("reasoning_effort"), body.get("model", "")
    if "reasoning_effort" not in body and not (body.get("tools") and re.match(r"gpt-(5\.[6-9]|[6-9])", model)):
        return None
    if not reasons(model):
        return Refusal(message="Unrecognized request argument supplied: reasoning_effort")
    if "reasoning_effort" in body and effort not in (known := efforts_of(model)):
        words = ", ".join(f"'{value}'" for value in known)
        return unsupported_value(
            "reasoning_effort", f"does not support '{effort}' with this model. Supported: {words}."
        )
    if re.match(r"gpt-(5\.[2-9]|[6-9])", model) and body.get("tools") and effort != "none":
        words = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions."
        return Refusal(message=f"{words} Please use /v1/responses instead.", param="reasoning_effort")
    return None


def tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: see `bad_tool`; github.com/run-llama/llama_index/issues/20865 (parallel_tool_calls)."""
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and "tools" not in body:
            words = f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            return Refusal(message=words, param=name)
    if "parallel_tool_calls" in body and re.match(r"o\d", body["model"]):
        return unsupported("parallel_tool_calls")
    if body.get("tools") == []:
        words = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
        return Refusal(message=words, param="tools", code="empty_array")
    return bad_tool([tool["function"] for tool in body.get("tools", ())])


def response_format(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: see `bad_reply_schema`."""
    given = body.get("response_format") or {}
    return bad_reply_schema(given["json_schema"], "response_format") if given.get("type") == "json_schema" else None


def stream_options(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: platform.openai.com/docs/api-reference/chat/create ("Only set this when you set stream: true")."""
    if "stream_options" in body and not body.get("stream"):
        words = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return Refusal(message=words, param="stream_options")
    return None


GPT_5 = Contract(
    name="openai_gpt_5",
    model="gpt-5.2",
    protocols=("openai_native", "json_schema", "openai_xml"),
    rules=(
        key, known_parameters, limits_and_sampling, reasoning_effort, tools, response_format, stream_options, contents,
        tool_calls, call_ids, pairs,
    ),
    answer=chat_answer,
    error=openai_error,
    quirks={"strict_tools": True},
)  # fmt: skip
GPT_NEWEST = replace(GPT_5, name="openai_newest", model="gpt-6.1-sol")
GPT_4 = replace(GPT_5, name="openai_gpt_4", model="gpt-4.1")
O_SERIES = replace(GPT_5, name="openai_o_series", model="o4-mini")
