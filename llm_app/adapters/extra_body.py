"""The `extra_body` of routes: additional request fields that administrators configure."""

from collections.abc import Collection, Mapping
from typing import Any

# Fields that the log describes, and fields that would add a conversation which the record does not contain.
_RESERVED = {"model", "messages", "system", "stream", "n", "prompt", "previous_response_id", "conversation"}
# Tools that would run at the provider, bypassing policies and the record.
_PROVIDER_TOOLS = {
    "tools",
    "functions",
    "web_search_options",  # OpenAI, Perplexity
    "mcp_servers",  # Anthropic
    "container",  # Anthropic: skills and code execution
    "context_management",  # Anthropic: removes results from the conversation
    "plugins",  # OpenRouter
    "transforms",  # OpenRouter: removes messages from the conversation
    "search_parameters",  # xAI
    "compound_custom",  # Groq
    "connectors",  # Cohere
    "enable_search",  # DashScope
    "enable_code_interpreter",
    "search_options",
    "web_search",
    "code_execution",
    "code_interpreter",
    "google_search",
    "googleSearch",
    "tool_resources",
    "builtin_tools",  # templates of Llama 3
}


# Fields that limit the output, in the words of several providers. The reservation of a budget must know the limit.
TOKEN_FIELDS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"),
    *("max_new_tokens", "max_tokens_to_sample", "max_gen_len", "n_predict", "num_predict"),
)
_ANSWER_TOKENS = 1_024  # of the output, besides thinking
_THINKING_FIELDS = ("budget_tokens", "thinking_budget", "thinkingBudget")  # part of the output
ANSWERS_FIELDS = ("n", "best_of", "candidate_count", "candidateCount")  # several answers, of which each is charged


def within_limit(extra_body: Mapping[str, Any], max_tokens: int) -> tuple[dict[str, Any], int]:
    """Return `extra_body` without fields that limit the output, and the lowest limit.

    The fields of inner objects, such as `reasoning.max_tokens`, are lowered so that tokens remain for the answer. A
    negative number means no limit.
    """
    if not extra_body:
        return {}, max_tokens
    limits = [value for name in TOKEN_FIELDS if type(value := extra_body.get(name)) is int and value > 0]
    limit = min([max_tokens, *limits])
    return _lowered(_without(extra_body, TOKEN_FIELDS), below(limit)), limit


def below(limit: int) -> int:
    """Return the limit of thinking within a limit of the output, so that tokens remain for the answer."""
    return max(limit - _ANSWER_TOKENS, limit // 2)


def _lowered(value: Any, limit: int) -> Any:
    if not isinstance(value, Mapping):
        return value
    lowered = {name: _lowered(item, limit) for name, item in value.items() if name not in ANSWERS_FIELDS}
    names = (name for name in (*TOKEN_FIELDS, *_THINKING_FIELDS) if type(lowered.get(name)) is int)
    return lowered | {name: limit if lowered[name] < 0 else min(lowered[name], limit) for name in names}


def allowed_fields(extra_body: Mapping[str, Any]) -> dict[str, Any]:
    """Return `extra_body` without the forbidden fields. The provider's own tools are removed at any depth."""
    return _without(_without_server_tools(extra_body), _RESERVED)


def _without_server_tools(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    inner = {name: _without_server_tools(item) for name, item in value.items()}
    return _without(inner, _PROVIDER_TOOLS)


def _without(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def set_field(body: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at a dotted path: "a.b" is the field b of the object a."""
    *parents, name = path.split(".")
    for parent in parents:
        inner = body.get(parent)
        body[parent] = inner if isinstance(inner, dict) else {}
        body = body[parent]
    body[name] = value
