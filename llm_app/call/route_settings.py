"""Settings of a route for its requests: target, parameters, endpoint and price."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.crypto import salted_hmac

from llm_app.adapters import extra_body
from llm_app.adapters.anthropic_native import SMALLEST_BUDGET
from llm_app.adapters.base import Adapter, Endpoint, RouteParameters
from llm_app.call.families import quirks_of_family
from llm_app.call.learned_quirks import SEALED_EPOCH, UNSUPPORTED, LearnableQuirk
from llm_app.models import ModelKind, Protocol, Route
from llm_app.pricing import prices
from llm_app.protocols import adapter_for
from llm_app.types import ToolMode

SMALL_WINDOW = 32_000  # tokens
_ACCOUNT_LENGTH = 16  # hexadecimal digits
_TAIL = 64  # bytes that may follow the newest message, such as a cache point


@dataclass(frozen=True, kw_only=True)
class TargetModel:
    """The model that receives a prompt. Sizes are in tokens, `model` is the name at the provider."""

    model: str
    tool_mode: ToolMode
    context_window: int
    max_tokens: int
    takes_images: bool = False


class IncrementalHash:
    """The SHA-256 of requests that each extend the previous one: only new bytes are hashed."""

    def __init__(self) -> None:
        self._newest, self._state = b"", hashlib.sha256()

    def of(self, body: bytes) -> str:
        prefix, end = self._newest[:-_TAIL], max(0, len(body) - _TAIL)
        if not body.startswith(prefix, 0, end):
            prefix, self._state = b"", hashlib.sha256()
        self._state.update(memoryview(body)[len(prefix) : end])
        self._newest, digest = body, self._state.copy()  # keeps a reference to the request, not a copy
        digest.update(memoryview(body)[end:])
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class RouteSettings:
    """The settings of a route as it was read, including learned quirks."""

    adapter: Adapter
    target: TargetModel
    parameters: RouteParameters
    endpoint: Endpoint
    price: Mapping[str, Any]
    sha256: IncrementalHash = field(default_factory=IncrementalHash)

    @classmethod
    def of(cls, route: Route) -> "RouteSettings":
        """Return the settings of a route.

        Raises: ProtocolUnavailable.
        """
        adapter, parameters = adapter_for(route.provider.protocol, route.model.kind), parameters_of(route)
        return cls(
            adapter=adapter,
            target=_target_model(route, adapter, parameters.max_tokens),
            parameters=parameters,
            endpoint=_endpoint(route),
            price=prices.price_of(route),
        )


def _target_model(route: Route, adapter: Adapter, max_tokens: int) -> TargetModel:
    return TargetModel(
        model=route.provider_model,
        tool_mode=adapter.tool_mode,
        context_window=_window(route),
        max_tokens=max_tokens,
        takes_images=route.takes_images,
    )


def parameters_of(route: Route, *new_quirks: LearnableQuirk) -> RouteParameters:
    """Return the parameters of a route's requests, with stored quirks and with `new_quirks`.

    No field of a request exceeds `max_tokens`, for which budgets are reserved.
    """
    quirks = _quirks_of(route, new_quirks)
    additional, max_tokens = extra_body.within_limit(route.extra_body, _max_tokens(route, quirks))
    parameters = RouteParameters(
        model=_model_name(route),
        max_tokens=max_tokens,
        temperature=route.temperature,
        thinking_budget=_thinking_budget(route, max_tokens, quirks),
        takes_images=route.takes_images or None,
        extra_body=additional,
        quirks=quirks,
        account=_account(route, quirks.get(SEALED_EPOCH)),
    )
    return RouteParameters.from_json(parameters.as_json())


def _account(route: Route, epoch: object) -> str | None:
    """Return a keyed fingerprint of the account behind a route, which reveals nothing; None for the built-in provider.

    The epoch is a part of it: whatever the account sealed in an earlier epoch counts as sealed by another one.
    """
    provider = route.provider
    access = [provider.litellm_provider, provider.base_url.rstrip("/"), provider.api_key, route.extra_headers]
    if not any(access):
        return None
    text = json.dumps([*access, epoch], sort_keys=True)
    return salted_hmac("llm_app.call.account", text, algorithm="sha256").hexdigest()[:_ACCOUNT_LENGTH]


def _quirks_of(route: Route, new_quirks: Iterable[LearnableQuirk]) -> dict[str, Any]:
    """Return the quirks of a route.

    Settings of an administrator override learned quirks, which override the family's.
    """
    quirks = quirks_of_family(route.provider.protocol, route.provider_model)
    stored = route.learned_quirks()
    new = [(quirk.name, quirk.value) for quirk in new_quirks]
    for quirk, value in [*stored, *(item for item in new if item not in stored)]:
        quirks[quirk] = [*quirks.get(UNSUPPORTED, ()), value] if quirk == UNSUPPORTED else value
    return {**quirks, **route.quirks}


def _thinking_budget(route: Route, max_tokens: int, quirks: Mapping[str, Any]) -> int | None:
    """Return the thinking budget, lowered so that tokens remain for the answer; None if there is too little room.

    A budget that is sent as an effort needs no such room.
    """
    if not route.thinking_budget or "thinking_effort_field" in quirks or quirks.get("thinking_form") == "adaptive":
        return route.thinking_budget
    budget = min(route.thinking_budget, extra_body.below(max_tokens))
    return budget if budget >= min(SMALLEST_BUDGET, route.thinking_budget) else None


def _max_tokens(route: Route, quirks: Mapping[str, Any]) -> int:
    """Return the maximum of output tokens: 0 for embeddings, at most a quarter of a small context window."""
    if route.model.kind == ModelKind.EMBEDDING:
        return 0
    max_tokens: int = route.max_tokens or route.model.max_output_tokens
    max_tokens, window = min(max_tokens, quirks.get("max_output_tokens", max_tokens)), _window(route)
    return min(max_tokens, window // 4) if window < SMALL_WINDOW else max_tokens


def _window(route: Route) -> int:
    return min(route.context_window or route.model.context_window, route.model.context_window)


def _model_name(route: Route) -> str:
    """Return the model name that the adapter needs. litellm recognizes the provider by a prefix."""
    prefix = route.provider.litellm_provider if route.provider.protocol == Protocol.LITELLM else ""
    return f"{prefix}/{route.provider_model}" if prefix else route.provider_model


def _endpoint(route: Route) -> Endpoint:
    provider = route.provider
    return Endpoint(
        base_url=provider.base_url,
        api_key=provider.api_key,
        extra_headers=route.extra_headers,
        silence_s=provider.timeout_s,
        total_s=provider.total_timeout_s,
    )
