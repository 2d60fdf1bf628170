"""DeepSeek and Kimi: providers that require the thinking of earlier calls, in both protocols."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.contracts import anthropic_messages
from tests.contracts.anthropic_stream import THINKING, anthropic_answer
from tests.contracts.contract import Contract, Refusal
from tests.contracts.openai_chat import key, stream_options
from tests.contracts.openai_messages import tool_calls, unpaired
from tests.contracts.openai_stream import openai_error, thinking_answer
from tests.contracts.openai_tools import bad_tool


def tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: api-docs.deepseek.com/api/create-chat-completion (at most 128, names), and for the words
    github.com/nikkigallery/Whimbox/issues/61; Kimi's reference has the same limits."""
    return bad_tool([tool["function"] for tool in body.get("tools", ())])


def pairs(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: github.com/smallmain/vscode-unify-chat-provider/issues/248."""
    return unpaired(body["messages"])


def deepseek_thinking(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check that every assistant message with a call has its thinking. The model thinks by default.

    Sources: api-docs.deepseek.com/guides/thinking_mode (tool calls: "must be passed back in all subsequent rounds");
    github.com/JohnnyZ93/oai-compatible-copilot/issues/215 (the words).
    """
    if (body.get("thinking") or {}).get("type") == "disabled":
        return None
    if all("reasoning_content" in message for message in body["messages"] if message.get("tool_calls")):
        return None
    words = "The `reasoning_content` in the thinking mode must be passed back to the API."
    return Refusal(message=words, code="invalid_request_error")


def deepseek_parameters(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the parameters. Sampling parameters are ignored.

    Sources of the rejections: api-docs.deepseek.com/guides/reasoning_model (logprobs),
    github.com/llm-exe/llm-exe/issues/662 (json_schema), github.com/BerriAI/litellm/pull/37470 (a forced call).
    """
    if (body.get("response_format") or {}).get("type") == "json_schema":
        return Refusal(message="This response_format type is unavailable now", code="invalid_request_error")
    if "logprobs" in body or "top_logprobs" in body:
        return Refusal(
            message="deepseek-reasoner does not support the parameter logprobs", code="invalid_request_error"
        )
    if body.get("tool_choice", "auto") not in ("auto", "none"):
        words = "deepseek-reasoner does not support this tool_choice"
        return Refusal(message=words, code="invalid_request_error")
    return None


def pictures(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: api-docs.deepseek.com/api/create-chat-completion (content is text); its parser's words for other parts."""
    for message in body["messages"]:
        if isinstance(message.get("content"), list) and any(part["type"] != "text" for part in message["content"]):
            words = "messages: unknown variant `image_url`, expected `text`"
            return Refusal(status=400, message=f"Failed to deserialize the JSON body into the target type: {words}")
    return None


def kimi_thinking(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model (usage notes);
    github.com/bytedance/deer-flow/issues/3043 (the words); an empty one is taken:
    github.com/Lapis0x0/obsidian-yolo/pull/243."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return None
    for number, message in enumerate(body["messages"]):
        if message.get("tool_calls") and "reasoning_content" not in message:
            why = f"reasoning_content is missing in assistant tool call message at index {number}"
            return Refusal(message=f"thinking is enabled but {why}")
    return None


def kimi_sampling(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: platform.kimi.ai/docs/api/models-overview (K2.5 and later: fixed); github.com/janhq/jan/issues/7790."""
    if body.get("temperature", 1) != 1:
        return Refusal(message="invalid temperature: only 1 is allowed for this model")
    if body.get("top_p", 0.95) != 0.95:
        return Refusal(message="invalid top_p: only 0.95 is allowed for this model")
    if body.get("tool_choice", "auto") not in ("auto", "none"):
        return Refusal(message="tool_choice 'required' is incompatible with thinking enabled")
    return None


def kimi_contents(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: github.com/AstrBotDevs/AstrBot/issues/7200."""
    for number, message in enumerate(body["messages"]):
        text = message.get("content")
        if message["role"] in ("assistant", "user") and not text and not message.get("tool_calls"):
            which = f"message at position {number} with role '{message['role']}' must not be empty"
            return Refusal(message=f"Invalid request: the {which}")
    return None


DEEPSEEK = Contract(
    name="deepseek",
    model="deepseek-v4-pro",
    protocols=("openai_native", "openai_xml"),
    rules=(key, deepseek_parameters, stream_options, tools, tool_calls, pairs, pictures, deepseek_thinking),
    answer=thinking_answer,
    error=openai_error,
    takes_images=False,
)
KIMI = replace(
    DEEPSEEK,
    name="kimi",
    model="kimi-k2.6",
    rules=(key, kimi_sampling, kimi_contents, stream_options, tools, tool_calls, pairs, kimi_thinking),
    takes_images=True,
)


def deepseek_blocks(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check that every assistant message with a call begins with thinking, which need not be signed.

    Sources: github.com/NousResearch/hermes-agent/pull/16149 (the words), /pull/17510 (unsigned), /issues/15700
    (disabled), github.com/farion1231/cc-switch/pull/4239 (no effort then).
    """
    if (body.get("thinking") or {}).get("type") == "disabled":
        if "effort" not in body.get("output_config", {}):
            return None
        return Refusal(message="thinking options type cannot be disabled when reasoning_effort is set")
    for message in body["messages"]:
        kinds = [block["type"] for block in message["content"]]
        if "tool_use" in kinds and kinds[0] not in THINKING:
            return Refusal(message="The `content[].thinking` in the thinking mode must be passed back to the API.")
    return None


def deepseek_key(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: api-docs.deepseek.com/guides/anthropic_api."""
    is_given = any(name.lower() == "x-api-key" for name in headers)
    return None if is_given else Refusal(status=401, message="Authentication Fails")


DEEPSEEK_ANTHROPIC = Contract(
    name="deepseek_anthropic",
    model="deepseek-v4-pro",
    protocols=("anthropic_native",),
    rules=(deepseek_key, anthropic_messages.calls, anthropic_messages.pairs, deepseek_blocks),
    answer=anthropic_answer,
    error=openai_error,
    path="/anthropic",
    endpoint="/anthropic/v1/messages",
    takes_images=False,
)
