"""Differences of model families from their protocol, as default quirks of routes.

A row applies to its protocols and to matching model names; later rows override earlier ones. A model without a row only
gets what every server of its protocol accepts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_CHAT = frozenset({"openai_native", "openai_xml", "json_schema"})
_RESPONSES = frozenset({"openai_responses"})
_ANTHROPIC = frozenset({"anthropic_native", "anthropic_xml"})
_SAMPLING = ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "logit_bias")
_OPENAI_SAMPLING = (*_SAMPLING, "logprobs", "top_logprobs", "stop")


@dataclass(frozen=True)
class _Family:
    names: str  # a regular expression for the beginning of the model's name
    protocols: frozenset[str]
    quirks: Mapping[str, Any]


_FAMILIES = (
    # --- OpenAI -------------------------------------------------------------------------------------------------
    # Reasoning models refuse `max_tokens` and sampling parameters. Sources: platform.openai.com/docs/api-reference/chat
    # (max_tokens: "not compatible with o-series models"), /docs/guides/latest-model (parameter compatibility), and
    # their HTTP 400 in github.com/langgenius/dify/issues/24307 and github.com/tmc/langchaingo/issues/1355.
    # gpt-5-chat-latest is none: github.com/BerriAI/litellm/issues/13781.
    _Family(r"o\d+\b|gpt-[5-9]", _CHAT, {"max_tokens_field": "max_completion_tokens"}),
    _Family(r"o\d+\b|gpt-[5-9](?!.*-chat)", _CHAT | _RESPONSES, {"unsupported": _OPENAI_SAMPLING}),
    # `reasoning_effort` in chat completions: up to GPT-5.1. GPT-5.2 to 5.5 refuse it with tools; from GPT-5.6 on, it
    # must be "none" then. Sources: github.com/openai/openai-openapi/issues/541,
    # github.com/livekit/agents/pull/5088 and /7169, github.com/BerriAI/litellm/pull/34569.
    _Family(r"o\d+\b|gpt-5(\.1)?(?![.\d])(?!-chat)", _CHAT, {"thinking_effort_field": "reasoning_effort"}),
    _Family(r"gpt-(5\.[6-9]|5\.\d\d|[6-9])(?!.*-chat)", _CHAT, {"reasoning_effort": "none"}),
    _Family(r"o\d+\b|gpt-[5-9](?!.*-chat)", _RESPONSES, {"thinking_effort_field": "reasoning.effort"}),
    # Others answer "Encrypted content is not supported with this model": github.com/ShishirPatil/gorilla/pull/1150.
    _Family(r"o\d+\b|gpt-[5-9](?!.*-chat)", _RESPONSES, {"encrypted_reasoning": True}),
    # Source: openrouter.ai/docs (model migrations, GPT-5.4): `phase` from GPT-5.3 Codex and GPT-5.4 on.
    _Family(r"gpt-(5\.3-codex|5\.[4-9]|5\.\d\d|[6-9])(?!.*-chat)", _RESPONSES, {"phases": True}),
    # The o-series refuses `parallel_tool_calls`, even false: github.com/run-llama/llama_index/issues/20865.
    _Family(r"gpt-(3\.5|4|[5-9])", _CHAT | _RESPONSES, {"parallel_tool_calls": False, "tool_choice": "required"}),
    _Family(r"o[3-9]\b", _CHAT | _RESPONSES, {"tool_choice": "required"}),
    # An id of a call has at most 40 characters (github.com/agno-agi/agno/issues/5382), and the schema of a reply no
    # `anyOf` at its root (github.com/prism-php/prism/issues/858).
    _Family(r"gpt-(?!oss)|o\d+\b", _CHAT, {"call_id_most": 40, "schema_root": "object"}),
    # At most 128 tools: platform.openai.com/docs/api-reference/chat/create, and the HTTP 400 in
    # github.com/anomalyco/opencode/issues/4909 and github.com/zed-industries/zed/issues/32946.
    _Family(r"gpt-(?!oss)|o\d+\b", _CHAT | _RESPONSES, {"max_tools": 128}),
    # --- Anthropic ----------------------------------------------------------------------------------------------
    # Source: platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use (tool_choice, and only "auto"
    # while the model thinks: the adapter sees to that). Other servers of the protocol are not known to take it.
    _Family(r"(.*\.)?claude-", _ANTHROPIC, {"parallel_tool_calls": False, "tool_choice": "any"}),
    # From Opus 4.7 on: only adaptive thinking, no sampling parameters. Sources: github.com/srtab/daiv/pull/1429,
    # github.com/promptfoo/promptfoo/pull/9500, github.com/braintrustdata/lingua/pull/335 (seen against the real API).
    _Family(
        r"(.*\.)?claude-(opus-4[-.][7-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos)",
        _ANTHROPIC,
        {"thinking_form": "adaptive", "unsupported": ("temperature", "top_p", "top_k")},
    ),
    # These think unless told not to, so a call cannot be forced. Sources: github.com/promptfoo/promptfoo/pull/10631,
    # github.com/router-for-me/CLIProxyAPI/pull/4070, openrouter.ai/docs (model migrations, Opus 5.5).
    _Family(r"(.*\.)?claude-((opus|sonnet|haiku)-[5-9]|fable|mythos)", _ANTHROPIC, {"tool_choice": "auto"}),
    # Source: platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks (the models that check).
    _Family(
        r"(.*\.)?claude-((fable|mythos)-5[-.][1-9]|(opus|sonnet|haiku)-(5[-.][5-9]|[6-9]))",
        _ANTHROPIC,
        {"thinking_is_bound": True},
    ),
    # --- others over Anthropic's protocol -----------------------------------------------------------------------
    # Their thinking goes back, also without a signature. Sources: github.com/NousResearch/hermes-agent/pull/14018 and
    # /17510 (Kimi and DeepSeek answer 400 without it), /issues/24884 (MiMo, too), /issues/75725 (MiniMax thinks no more
    # without it), and docs.z.ai/guides/capabilities/thinking-mode (GLM: preserved thinking).
    _Family(r"deepseek-|kimi-|moonshot-|mimo-|glm-|minimax-", _ANTHROPIC, {"unsigned_thinking": True}),
    # DeepSeek thinks unless told not to, and then refuses calls without thinking:
    # github.com/NousResearch/hermes-agent/issues/15700 and /pull/16149.
    _Family(r"deepseek-", _ANTHROPIC, {"complete_thinking": True}),
    # --- others over chat completions ---------------------------------------------------------------------------
    # No `tool_choice` for the following: they refuse "required" while they think, and most think by default.
    # Sources: github.com/cloudwego/eino/issues/994 (Qwen, DeepSeek), github.com/BerriAI/litellm/pull/37470 (DeepSeek).
    # Gemini takes no `parallel_tool_calls`: github.com/jackmpcollins/magentic/pull/382.
    # Source for efforts: ai.google.dev/gemini-api/docs/openai (low, medium, high: 1,024, 8,192, 24,576 tokens).
    _Family(r"gemini-(2\.5|[3-9]|flash-latest|pro-latest)", _CHAT, {"thinking_effort_field": "reasoning_effort"}),
    # Gemini 3 wants a signature with each call, and has a placeholder for those of other models. Sources:
    # ai.google.dev/gemini-api/docs/thought-signatures, github.com/langroid/langroid/pull/969.
    # It refuses keywords of JSON Schema that OpenAPI does not have: github.com/pizza-bot-app/pizza-bot/issues/62.
    _Family(r"gemini-", _CHAT, {"schema_root": "object", "openapi_schemas": True}),
    _Family(r"gemini-([3-9]|flash-latest|pro-latest)", _CHAT, {"thought_signatures": True}),
    # DeepSeek wants its thinking back with each call: api-docs.deepseek.com/guides/thinking_mode ("Tool Calls": 400).
    # MiMo, too: platform.xiaomimimo.com/docs/en-US/usage-guide/passing-back-reasoning_content.
    _Family(r"deepseek-|mimo-", _CHAT, {"thinking_field": "reasoning_content"}),
    # Kimi too, and its thinking models fix the sampling. Sources: platform.kimi.ai/docs/api/models-overview, and the
    # HTTP 400 in github.com/JohnnyZ93/oai-compatible-copilot/issues/140 and github.com/janhq/jan/issues/7790.
    _Family(
        r"kimi-(k2\.[5-9]|k[3-9]|for-coding|.*thinking)",
        _CHAT,
        {"thinking_field": "reasoning_content", "unsupported": _SAMPLING},
    ),
    # "Tool call id … must be a-z, A-Z, 0-9, with a length of 9": github.com/anomalyco/opencode/issues/1680.
    # "Unexpected role 'user' after role 'tool'": github.com/aaif-goose/goose/issues/5998, BerriAI/litellm/issues/17761.
    _Family(
        r"(open-)?(mi[sx]tral|ministral|magistral|codestral|devstral|pixtral|mathstral|leanstral|voxtral)-",
        _CHAT,
        {"call_id_length": 9, "assistant_after_tool": True},
    ),
)


def quirks_of_family(protocol: str, model: str) -> dict[str, Any]:
    """Return the quirks of a model. Its name may have a prefix ("openai/gpt-5", "ft:o4-mini:…")."""
    name = model.lower().rpartition("/")[2].removeprefix("ft:")
    quirks: dict[str, Any] = {}
    for family in _FAMILIES:
        if protocol in family.protocols and re.match(family.names, name):
            quirks |= family.quirks
    return quirks
