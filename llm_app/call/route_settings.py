"""What a route says of a request: who it is for, what shapes it, and where it goes."""

from collections.abc import Iterable
from typing import Any

from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.call.families import quirks_of_family
from llm_app.call.lessons import UNSUPPORTED, Lesson
from llm_app.call.llm_call import Recipient
from llm_app.models import ModelKind, Protocol, Route
from llm_app.protocols import adapter_for

SMALL_WINDOW = 32_000  # tokens


def recipient_of(route: Route) -> Recipient:
    return Recipient(
        model=route.provider_model,
        tool_mode=adapter_for(route.provider.protocol, route.model.kind).tool_mode,
        context_window=_window(route),
        max_tokens=_max_tokens(route),
        takes_images=route.takes_images,
    )


def parameters_of(route: Route, *lessons: Lesson) -> RouteParameters:
    """With what is to be learned in addition to what is stored."""
    parameters = RouteParameters(
        model=_name_of_model(route),
        max_tokens=_max_tokens(route),
        temperature=route.temperature,
        thinking_budget=route.thinking_budget,
        takes_images=route.takes_images or None,
        extra_body=route.extra_body,
        quirks=_quirks_of(route, lessons),
    )
    return RouteParameters.from_json(parameters.as_json())


def _quirks_of(route: Route, lessons: Iterable[Lesson]) -> dict[str, Any]:
    """What an administrator has configured decides, then what was learned, then what is known of the family."""
    quirks = quirks_of_family(route.provider.protocol, route.provider_model)
    learned = [*route.learned_quirks(), *((lesson.quirk, lesson.value) for lesson in lessons)]
    for quirk, value in learned:
        quirks[quirk] = [*quirks.get(UNSUPPORTED, ()), value] if quirk == UNSUPPORTED else value
    return {**quirks, **route.quirks}


def _max_tokens(route: Route) -> int:
    """An embedding has no words to pay for. Of a small window the reply has a quarter at most."""
    if route.model.kind == ModelKind.EMBEDDING:
        return 0
    wanted, window = route.max_tokens or route.model.max_output_tokens, _window(route)
    return min(wanted, window // 4) if window < SMALL_WINDOW else wanted


def _window(route: Route) -> int:
    return min(route.context_window or route.model.context_window, route.model.context_window)


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
