"""What went wrong with a provider, in words for administrators: what it is, and where to look."""

import aiohttp

from llm_app import errors
from llm_app.models import Route

_QUOTED = 300  # characters of the provider's own words


def explain(error: errors.LLMError, route: Route) -> str:
    """`error` is what a call on `route` raised; the wire's own error behind it tells more where there is one."""
    provider = route.provider
    if isinstance(error, errors.AuthenticationFailed):
        return _key(error, has_key=bool(provider.api_key))
    if isinstance(error, errors.ModelNotFound):
        return _not_found(error, route.provider_model)
    if isinstance(error, errors.ConnectionFailed):
        return _connection(error.__cause__, provider.base_url)
    if isinstance(error, errors.UnreadableReply):
        return f"Something answers there, but not in the protocol {provider.protocol}. Is the address complete?"
    if isinstance(error, errors.ProviderTimeout):
        return "It was silent for too long. Is it the right address, and is the model loaded?"
    if isinstance(error, errors.StreamCut):
        return "The connection broke off. Does the address begin with the right one of http:// and https://?"
    if isinstance(error, errors.Overloaded):
        return f"It is within reach, but overloaded, or a limit of the account is reached (HTTP {error.status})."
    if isinstance(error, errors.ServerError):
        return f"It reports a fault of its own: {error.detail[:_QUOTED]}"
    return f"It refuses the request: {error.detail[:_QUOTED]}"


def _key(error: errors.LLMError, *, has_key: bool) -> str:
    if error.status == 402:
        return "The account behind the key has no credit left (HTTP 402)."
    if not has_key:
        return f"It wants a key, and none is stored (HTTP {error.status})."
    if error.status == 403:
        return "The key may not do this (HTTP 403): it belongs to another account, region or model."
    return f"The key is wrong (HTTP {error.status})."


def _not_found(error: errors.LLMError, model: str) -> str:
    """A provider that knows its own API speaks of the model; anybody else has no such page."""
    if "model" in error.detail.lower():
        return f"It does not know the model {model} (HTTP 404)."
    return "There is no such API at this address (HTTP 404). Does a part such as /v1 lack?"


def _connection(cause: BaseException | None, address: str) -> str:
    if isinstance(cause, aiohttp.InvalidURL):
        return f"The address is not valid: {address}"
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return f"The host {cause.host} is not known."
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return f"The certificate of {cause.host} is not valid."
    if isinstance(cause, aiohttp.ClientSSLError):
        return "A secure connection fails. Does the address begin with the right one of http:// and https://?"
    return f"Nobody answers at {address}"
