"""One tiny call with a fixed prompt, so that an administrator sees whether a provider works, or why it does not."""

import asyncio
from collections.abc import Collection, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from llm_app import errors, stored_prompt
from llm_app.call.attempt import Attempt
from llm_app.call.llm_call import LLMCall, Observer, Recipient, StoredPrompt
from llm_app.models import LLMLog, ModelKind, Provider, Route
from llm_app.transport import wire
from llm_app.types import Message, Prompt, Purpose, ToolSpec

T = TypeVar("T")
SILENCE = 20.0  # seconds; an administrator waits for the page
TOTAL = 60.0  # seconds
_MOST = 5  # models; more would only cost
_QUOTED = 300  # characters of the provider's own words
_WORD = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_PROMPT = Prompt(
    system="You are asked whether you are there.",
    tools=[ToolSpec(name="message", description="Says a word.", parameters=_WORD)],
    messages=[Message(role="user", content="Call the tool message with the text ok, and do nothing else.")],
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result for one model of the provider, in words for administrators."""

    model: str
    ok: bool
    sentence: str


def try_models(provider: Provider, kinds: Collection[ModelKind] = tuple(ModelKind)) -> Iterator[Outcome]:
    """Tries each model of these kinds that is routed to the provider, until the provider itself is clearly at fault.

    The breaker neither stops the calls nor counts them. Not for a thread with an event loop.
    """
    for route in _targets(provider, kinds):
        try:
            log = _call(route)
        except errors.LLMError as error:
            yield Outcome(model=route.provider_model, ok=False, sentence=_explanation(error, route))
            if not isinstance(error, errors.BadRequest | errors.ModelNotFound | errors.ProtocolUnavailable):
                return
        else:
            seconds = log.duration_ms / 1000
            yield Outcome(model=route.provider_model, ok=True, sentence=f"It works ({seconds:.1f} s).")


def _targets(provider: Provider, kinds: Collection[ModelKind]) -> list[Route]:
    """One route for each of its models, the first in priority; with the time limits of a test."""
    provider.timeout_s = min(provider.timeout_s, SILENCE)
    provider.total_timeout_s = min(provider.total_timeout_s, TOTAL)
    routes = {}
    routed = provider.routes.filter(model__kind__in=kinds).select_related("model")
    for route in routed.order_by("-priority", "-pk"):
        route.provider = provider
        routes[route.provider_model] = route
    return list(routes.values())[::-1][:_MOST]


def _call(route: Route) -> LLMLog:
    call = LLMCall(purpose=Purpose.TEST, prompt_for=_prompt_for, model=route.model.name)
    completion = Attempt(call, route, 1, Observer()).run(_run)
    completion.log.save()
    return completion.log


def _run(work: Coroutine[Any, Any, T]) -> T:
    """In its own event loop: the thread of a page or of a command has none."""

    async def then_close() -> T:
        try:
            return await work
        finally:
            await wire.close()

    return asyncio.run(then_close())


def _prompt_for(recipient: Recipient) -> StoredPrompt:
    return stored_prompt.store_prompt(_PROMPT)


def _explanation(error: errors.LLMError, route: Route) -> str:
    """`error` is what a call on `route` raised; the wire's own error behind it tells more where there is one."""
    provider = route.provider
    if isinstance(error, errors.AuthenticationFailed):
        return _key(error, has_key=bool(provider.api_key))
    if isinstance(error, errors.ModelNotFound):
        return _not_found(error, route.provider_model)
    if isinstance(error, errors.ProtocolUnavailable):
        return f"This server does not speak the protocol {provider.protocol} with models of {route.model.kind}."
    if isinstance(error, errors.ConnectionFailed):
        return _connection(error.__cause__, provider.base_url)
    if isinstance(error, errors.UnreadableReply):
        return f"Something answers there, but not in the protocol {provider.protocol}. Is the address complete?"
    if isinstance(error, errors.ProviderTimeout):
        return "It was silent for too long. Is it the right address, and is the model loaded?"
    if isinstance(error, errors.StreamCut):
        return "The connection broke off. Should the address begin with http:// or with https://?"
    if isinstance(error, errors.Overloaded):
        return f"It can be reached, but it is overloaded, or the account has reached a limit (HTTP {error.status})."
    if isinstance(error, errors.ServerError):
        return f"It reports an internal error: {error.detail[:_QUOTED]}"
    return f"It refuses the request: {error.detail[:_QUOTED]}"


def _key(error: errors.LLMError, *, has_key: bool) -> str:
    if error.status == 402:
        return "The account behind the key has no credit left (HTTP 402)."
    if not has_key:
        return f"It requires a key, and none is stored (HTTP {error.status})."
    if error.status == 403:
        return "The key may not do this (HTTP 403): it belongs to another account, region or model."
    return f"The key is wrong (HTTP {error.status})."


def _not_found(error: errors.LLMError, model: str) -> str:
    """A provider with this API mentions the model; any other server has no such page."""
    if "model" in error.detail.lower():
        return f"It does not know the model {model} (HTTP 404)."
    return "There is no such API at this address (HTTP 404). Is a part such as /v1 missing?"


def _connection(cause: BaseException | None, address: str) -> str:
    if isinstance(cause, aiohttp.InvalidURL):
        return f"The address is not valid: {address}"
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return f"The host {cause.host} is not known."
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return f"The certificate of {cause.host} is not valid."
    if isinstance(cause, aiohttp.ClientSSLError):
        return "A secure connection fails. Should the address begin with http:// or with https://?"
    return f"There is no answer at {address}"
