"""Connection tests: a small call with a fixed prompt tells administrators whether a provider works, or why not."""

import asyncio
import socket
import ssl
from collections.abc import Collection, Coroutine, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from django.utils import timezone

from llm_app import errors, stored_prompt
from llm_app.breaker.changes import reset_unless_forced
from llm_app.call import Completion, LLMCall, Observer
from llm_app.call.attempt import ask
from llm_app.models import ModelKind, Provider, Route
from llm_app.transport.address import address_of
from llm_app.transport.error_body import own_words
from llm_app.transport.waiting import ready_descriptors
from llm_app.types import Message, Prompt, Purpose, ToolSpec

T = TypeVar("T")
SILENCE_S = 20.0  # seconds; an administrator waits for the page
TOTAL_S = 60.0  # seconds
_MAX_MODELS = 5  # models
_MAX_QUOTE = 300  # characters of the provider's own words
_MESSAGE_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_PROMPT = Prompt(
    system="You are asked whether you are there.",
    tools=[ToolSpec(name="message", description="Says a word.", parameters=_MESSAGE_SCHEMA)],
    messages=[Message(role="user", content="Call the tool message with the text ok, and do nothing else.")],
)
_FAULT_OF_ONE_MODEL = errors.BadRequest | errors.ModelNotFound | errors.ProtocolUnavailable | errors.ToolsUnsupported


@dataclass(frozen=True, kw_only=True)
class ConnectionTestResult:
    """The result for one model, in words for administrators. `error` is the reason for a missing answer."""

    model: str
    ok: bool
    sentence: str
    error: errors.LLMError | None = None


def check_models(provider: Provider, kinds: Collection[ModelKind] = tuple(ModelKind)) -> Iterator[ConnectionTestResult]:
    """Test each model of these kinds that has a route to the provider. Stop at a failure of the provider itself."""
    for route in _routes_to_check(provider, kinds):
        outcome = check_route(route)
        _store_verdict(outcome, route)
        yield outcome
        if outcome.error and not isinstance(outcome.error, _FAULT_OF_ONE_MODEL):
            return


def _routes_to_check(provider: Provider, kinds: Collection[ModelKind]) -> list[Route]:
    """Return one route per model of the provider, the one with the first priority."""
    routes = {}
    routed = provider.routes.filter(model__kind__in=kinds).select_related("model")
    for route in routed.order_by("-priority", "-pk"):
        route.provider = provider
        routes[route.provider_model] = route
    return list(routes.values())[::-1][:_MAX_MODELS]


def _store_verdict(outcome: ConnectionTestResult, route: Route) -> None:
    """Store the verdict, which is shown until the next test."""
    tested = {"works": outcome.ok, "verdict": outcome.sentence, "tested_at": timezone.now()}
    Route.objects.filter(provider=route.provider, provider_model=route.provider_model).update(**tested)
    if outcome.ok:
        reset_unless_forced(route.provider, reason="A test was answered.")


def check_route(route: Route) -> ConnectionTestResult:
    """Make one call, with a tool if the model is a text model. The route may be unsaved.

    The breaker neither blocks nor counts the call; `check_models` closes it after an answer. Do not call this in a
    thread with a running event loop.
    """
    try:
        completion = _call(_with_test_timeouts(route))
    except errors.LLMError as error:
        sentence = explanation(error, route.provider, route)
        return ConnectionTestResult(model=route.provider_model, ok=False, sentence=sentence, error=error)
    duration = answer_time(completion.log.duration_ms)
    if route.model.kind != ModelKind.TEXT:
        return ConnectionTestResult(model=route.provider_model, ok=True, sentence=f"It works ({duration}).")
    if not completion.result.tool_calls:
        sentence = "It answers, but it did not call the tool that it was asked to call. Tasks need a model that does."
        return ConnectionTestResult(model=route.provider_model, ok=False, sentence=sentence)
    return ConnectionTestResult(
        model=route.provider_model, ok=True, sentence=f"It works ({duration}): it called a tool."
    )


def answer_time(milliseconds: int) -> str:
    """Return how long an answer took, in words that never claim that it took no time."""
    if milliseconds < 1:
        return "less than 1 ms"
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _with_test_timeouts(route: Route) -> Route:
    """Return a copy of the route with the timeouts of a test."""
    limited, limited.provider = copy(route), copy(route.provider)
    limited.provider.timeout_s = min(route.provider.timeout_s, SILENCE_S)
    limited.provider.total_timeout_s = min(route.provider.total_timeout_s, TOTAL_S)
    return limited


def _call(route: Route) -> Completion:
    call = LLMCall(
        purpose=Purpose.TEST, prompt_for=lambda target: stored_prompt.store_prompt(_PROMPT), model=route.model.name
    )
    with LoopRunner() as run:
        completion = ask(call, route, 1, Observer(), run)
    completion.log.save()
    return completion


class LoopRunner:
    """A runner with its own event loop, for the thread of a page or a command. Its waits cannot be interrupted."""

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.close()

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        return self._runner.run(work)

    def wait(self, seconds: float, descriptor: int = -1, events: int = 0) -> bool:
        return bool(ready_descriptors(seconds, {descriptor: events}))


def explanation(error: errors.LLMError, provider: Provider, route: Route | None = None) -> str:
    """Explain the error of a request to the provider. Its cause, such as an error of the network, may tell more."""
    provider_message = own_words(error.detail)[:_MAX_QUOTE]
    quote = f" It says: “{provider_message}”" if provider_message else ""
    status = f" (HTTP {error.status})" if error.status else ""  # errors inside a stream have no status
    if fault := fault_of_account(error, has_key=bool(provider.api_key)):
        return fault + quote
    if isinstance(error, errors.ModelNotFound):
        return _explain_not_found(error, route.provider_model if route else "") + quote
    if isinstance(error, errors.ProtocolUnavailable):
        kind = route.model.kind if route else ModelKind.TEXT
        return f"This server does not speak the protocol {provider.protocol} with models of {kind}."
    if isinstance(error, errors.ConnectionFailed):
        return _explain_connection(error.__cause__, provider.base_url)
    if isinstance(error, errors.UnreadableReply):
        return f"Something answers there, but not in the protocol {provider.protocol}. Is the address complete?"
    if isinstance(error, errors.ProviderTimeout):
        return "It sent nothing for too long. Is it the right address, and is the model loaded?"
    if isinstance(error, errors.StreamCut):
        return "The connection broke off. Should the address begin with http:// or with https://?"
    if isinstance(error, errors.AllowanceSpent):
        return f"The allowance of the account is used up{status}.{quote}"
    if isinstance(error, errors.ToolsUnsupported):
        return f"This model cannot call tools there{status}: choose a protocol with XML, or another model.{quote}"
    if isinstance(error, errors.Overloaded):
        return f"It is overloaded, or the account has reached a limit{status}.{quote}"
    if isinstance(error, errors.ServerError):
        return f"It reports an internal error{status}.{quote}"
    return f"It refuses the request (HTTP {error.status or 400}).{quote}"


def fault_of_account(error: errors.LLMError, *, has_key: bool) -> str:
    """Return the fault that all models of the provider share, such as a wrong key; empty for other faults.

    A missing right is the fault of a model, too, but is often seen with a key of another account.
    """
    status = f"(HTTP {error.status})"
    if isinstance(error, errors.NoCredit):
        return f"The account behind the key has no credit left {status}."
    if isinstance(error, errors.RegionUnsupported):
        return f"It does not serve the region of this server {status}."
    if not isinstance(error, errors.AuthenticationFailed | errors.AccessDenied):
        return ""
    if not has_key:
        return f"It requires a key, and none is stored {status}."
    if isinstance(error, errors.AccessDenied):
        return f"The key may not do this {status}: it belongs to another account, region or model."
    return f"The key is wrong {status}."


def _explain_not_found(error: errors.LLMError, model: str) -> str:
    """Explain a missing model or page. An error that mentions the model comes from a server with this API."""
    if error.status == 403:
        return f"The key may not use the model {model} (HTTP 403)."
    if model and "model" in error.detail.lower():
        return f"It does not know the model {model} (HTTP 404)."
    return "There is no such API at this address (HTTP 404). Is a part such as /v1 missing?"


def _explain_connection(cause: BaseException | None, address: str) -> str:
    if isinstance(cause, socket.gaierror):
        parsed = address_of(address)
        return (
            f"The proxy {parsed.proxy.host} is not known." if parsed.proxy else f"The host {parsed.host} is not known."
        )
    if isinstance(cause, ssl.SSLCertVerificationError):  # a subclass of ValueError, so it comes first
        return f"The certificate of {urlsplit(address).hostname} is not valid."
    if isinstance(cause, ValueError):
        return f"The address is not valid: {address}"
    if isinstance(cause, ssl.SSLError):
        return "A secure connection fails. Should the address begin with http:// or with https://?"
    return f"There is no answer at {address}"
