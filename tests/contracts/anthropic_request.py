"""Rules of Anthropic's Messages API for the parameters of a request and its tools."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.contracts.contract import Refusal

_FIELDS = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "system",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "tools",
        "tool_choice",
        "thinking",
        "metadata",
        "service_tier",
        "output_config",
        "cache_control",
        "container",
        "inference_geo",
    ]
)
_MOST_OUTPUT = 64_000
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_AT_THE_TOP = ("anyOf", "oneOf", "allOf")
BINDING = "thinking-binding-controls-2026-08-01"  # the name of a beta


def takes_budget(model: str) -> bool:
    """Claude 4.6 and earlier. Source: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting."""
    return bool(re.match(r"claude-(opus|sonnet|haiku)-4-[0-6]\b", model))


def takes_adaptive(model: str) -> bool:
    """Claude 4.6 and later. Source: as for `takes_budget`."""
    return not re.match(r"claude-(opus|sonnet|haiku)-4-[0-5]\b", model)


def is_always_thinking(model: str) -> bool:
    """Source: as for `takes_budget`."""
    return bool(re.match(r"claude-(opus-5-5|fable|mythos)", model))


def header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")


def key(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: platform.claude.com/docs/en/api/errors (401), /api/versioning (the version is required)."""
    if not header(headers, "x-api-key"):
        return Refusal(status=401, type="authentication_error", message="x-api-key header is required")
    if not header(headers, "anthropic-version"):
        return Refusal(message="anthropic-version: header is required")
    return None


def known_parameters(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: platform.claude.com/docs/en/api/messages, and its words "Extra inputs are not permitted"."""
    if unknown := body.keys() - _FIELDS:
        return Refusal(message=f"{min(unknown)}: Extra inputs are not permitted")
    if missing := {"model", "messages", "max_tokens"} - body.keys():
        return Refusal(message=f"{min(missing)}: Field required")
    return None


def size(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/RooVetGit/Roo-Code/issues/3001 (max_tokens), docs.claude.com/en/api/errors (32 MB)."""
    if body["max_tokens"] > _MOST_OUTPUT:
        words = f"{body['max_tokens']} > {_MOST_OUTPUT}, which is the maximum allowed number of output tokens"
        return Refusal(message=f"max_tokens: {words} for {body['model']}")
    if body["max_tokens"] < 1:
        return Refusal(message="max_tokens: Input should be greater than or equal to 1")
    if int(header(headers, "content-length") or 0) > 32 * 1024 * 1024:
        return Refusal(status=413, type="request_too_large", message="Request exceeds the maximum size")
    return None


def thinking(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting (types, and their words),
    github.com/kaitranntt/ccs/issues/56 (budget), /build-with-claude/preserved-thinking (block_binding)."""
    given, model = body.get("thinking"), body["model"]
    if given is None:
        return None
    if given["type"] == "enabled" and not takes_budget(model):
        words = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        return Refusal(message=f'"thinking.type.enabled" is not supported for this model. {words}')
    if given["type"] == "adaptive" and not takes_adaptive(model):
        return Refusal(message="adaptive thinking is not supported on this model")
    if given["type"] == "disabled" and is_always_thinking(model):
        return Refusal(message='"thinking.type.disabled" is not supported for this model.')
    if "block_binding" in given and BINDING not in header(headers, "anthropic-beta"):
        return Refusal(message=f"thinking.{given['type']}.block_binding: Extra inputs are not permitted")
    return _bad_budget(given, body["max_tokens"]) if given["type"] == "enabled" else None


def _bad_budget(given: Mapping[str, Any], max_tokens: int) -> Refusal | None:
    budget = given.get("budget_tokens", 0)
    if budget < 1024:
        return Refusal(message="thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget >= max_tokens:
        return Refusal(message="`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def sampling(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: docs.claude.com/en/docs/build-with-claude/extended-thinking (temperature while it thinks),
    github.com/altic-dev/FluidVoice/issues/285 (from Opus 4.7 on)."""
    for name in ("temperature", "top_p", "top_k"):
        if name in body and not takes_budget(body["model"]) and (name, body[name]) != ("temperature", 1):
            return Refusal(message=f"`{name}` is deprecated for this model.")
    if (body.get("thinking") or {}).get("type") == "enabled" and body.get("temperature", 1) != 1:
        return Refusal(message="`temperature` may only be set to 1 when thinking is enabled.")
    return None


def tool_choice(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/can1357/oh-my-pi/issues/341 (while it thinks), github.com/vercel/ai/releases (4.0.60: models
    that refuse forced tool use), docs.claude.com/en/api/messages (tool_choice, disable_parallel_tool_use)."""
    given = body.get("tool_choice")
    if given is None:
        return None
    if not body.get("tools"):
        return Refusal(message="tool_choice may only be specified while providing tools.")
    if given["type"] not in ("any", "tool"):
        return None
    if is_always_thinking(body["model"]):
        return Refusal(message='tool_choice: type "tool" and "any" are not supported for this model.')
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        return Refusal(message="Thinking may not be enabled when tool_choice forces tool use.")
    return None


def tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/goruck/home-generative-agent/issues/585 (top level), github.com/tailcallhq/forgecode/issues/892
    (names), docs.claude.com/en/api/messages (tools)."""
    given = body.get("tools", [])
    if len({tool["name"] for tool in given}) < len(given):
        return Refusal(message="tools: Tool names must be unique.")
    for number, tool in enumerate(given):
        place, schema = f"tools.{number}.custom", tool["input_schema"]
        if not _NAME.fullmatch(tool["name"]):
            return Refusal(message=f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if any(word in schema for word in _AT_THE_TOP):
            words = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            return Refusal(message=f"{place}.input_schema: {words}")
        if schema.get("type") != "object":
            return Refusal(message=f"{place}.input_schema.type: Input should be 'object'")
        if not all(map(_PROPERTY.fullmatch, schema.get("properties", {}))):
            words = "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
            return Refusal(message=f"{place}.input_schema.properties: {words}")
    return _too_strict([tool["input_schema"] for tool in given if tool.get("strict")])


_NOT_STRICT = ("minimum", "maximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems")


def _too_strict(schemas: list[Mapping[str, Any]]) -> Refusal | None:
    """Sources: platform.claude.com/docs/en/build-with-claude/structured-outputs (limitations), github.com/elie222/
    inbox-zero/issues/2323 and github.com/vercel/ai/pull/17268 (their words)."""
    parts = [part for schema in schemas for part in _parts(schema)]
    objects = [part for part in parts if part.get("type") == "object"]
    optional = sum(len(part.get("properties", {}).keys() - set(part.get("required", ()))) for part in objects)
    unions = sum("anyOf" in part or isinstance(part.get("type"), list) for part in parts)
    if any(part.get("additionalProperties") is not False for part in objects):
        return Refusal(message="For 'object' type, 'additionalProperties' must be explicitly set to false")
    if wrong := next((word for part in parts for word in _NOT_STRICT if word in part), ""):
        return Refusal(message=f"For this type, property '{wrong}' is not supported")
    for count, limit, what in ((len(schemas), 20, "strict tools"), (optional, 24, "optional parameters"),
                               (unions, 16, "parameters with union types")):  # fmt: skip
        if count > limit:
            return Refusal(message=f"Schemas contains too many {what} ({count}), (limit: {limit}).")
    return None


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        yield schema
        inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items")]
        for part in [*inner, *schema.get("anyOf", ())]:
            yield from _parts(part)


RULES = (key, known_parameters, size, thinking, sampling, tool_choice, tools)
