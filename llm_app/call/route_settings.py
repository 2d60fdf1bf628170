"""What a route says of a request: who it is for, what shapes it, and where it goes."""

import re
from collections.abc import Mapping
from typing import Any

from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.call.llm_call import Recipient
from llm_app.models import ModelKind, Protocol, Route
from llm_app.protocols import adapter_for

# Quirks of model families at OpenAI and at gateways to it, by the beginning of the model's name.
# Reasoning models refuse `max_tokens`; servers that only speak like OpenAI may know nothing else. Source:
# platform.openai.com/docs/api-reference/chat/create (max_tokens: "not compatible with o-series models"), and for GPT-5
# its HTTP 400 "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead.", also at GitHub Models.
_FAMILIES = (
    (re.compile(r"o\d+\b"), {"max_tokens_field": "max_completion_tokens"}),  # o1, o3, o4-mini
    (re.compile(r"gpt-[5-9]\b"), {"max_tokens_field": "max_completion_tokens"}),  # gpt-5, gpt-5.2, gpt-5-mini
)


def recipient_of(route: Route) -> Recipient:
    return Recipient(
        model=route.provider_model,
        tool_mode=adapter_for(route.provider.protocol, route.model.kind).tool_mode,
        context_window=min(route.context_window or route.model.context_window, route.model.context_window),
        max_tokens=_max_tokens(route),
        takes_images=route.takes_images,
    )


def parameters_of(route: Route) -> RouteParameters:
    parameters = RouteParameters(
        model=_name_of_model(route),
        max_tokens=_max_tokens(route),
        temperature=route.temperature,
        thinking_budget=route.thinking_budget,
        takes_images=route.takes_images or None,
        extra_body=route.extra_body,
        quirks={**_quirks_of_family(route), **route.quirks},
    )
    return RouteParameters.from_json(parameters.as_json())


def _max_tokens(route: Route) -> int:
    """An embedding has no words to pay for."""
    if route.model.kind == ModelKind.EMBEDDING:
        return 0
    return route.max_tokens or route.model.max_output_tokens


def _quirks_of_family(route: Route) -> Mapping[str, Any]:
    """Names may carry an owner ("openai/gpt-5") or say that a model was tuned ("ft:o4-mini:…")."""
    if route.provider.protocol not in (Protocol.OPENAI_NATIVE, Protocol.JSON_SCHEMA):
        return {}  # litellm has its own table
    name = route.provider_model.lower().rpartition("/")[2].removeprefix("ft:")
    return next((quirks for family, quirks in _FAMILIES if family.match(name)), {})


def _name_of_model(route: Route) -> str:
    """As the adapter needs it: litellm tells by the name's beginning which provider it has before it."""
    prefix = route.provider.litellm_provider if route.provider.protocol == Protocol.LITELLM else ""
    return f"{prefix}/{route.provider_model}" if prefix else route.provider_model


def endpoint_of(route: Route) -> Endpoint:
    provider = route.provider
    return Endpoint(
        base_url=provider.base_url,
        api_key=provider.api_key,
        extra_headers=route.extra_headers,
        silence_s=provider.timeout_s,
        total_s=provider.total_timeout_s,
    )
