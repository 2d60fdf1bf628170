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
