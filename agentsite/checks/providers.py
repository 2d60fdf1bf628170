"""The model providers: set up, with a key, and within reach. No model is called."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from agentsite.checks.finding import Finding, broken, fine, note
from llm_app.errors import BadRequest
from llm_app.models import Provider, Route
from llm_app.models.provider import Protocol
from llm_app.protocols import adapter_for

_SECONDS = 2.0
_TRY = "Send a message, and look at the LLM calls in the admin."
_PORTS = {"http": 80, "https": 443}


def default_model() -> Finding:
    """Whether somebody answers where nobody chose a model."""
    route = Route.objects.usable_for("").defer("provider__api_key").first()
    if route is None:
        return broken("model", "The default model has no enabled route.", "Add a provider and a route in the admin.")
    return fine("model", f"{route} answers.")


def each() -> Iterator[Finding]:
    """One finding for each enabled provider; the demo counts only while a model is routed to it."""
    try:
        enabled = list(Provider.objects.filter(enabled=True).exclude(protocol=Protocol.SCRIPTED, routes=None))
    except ImproperlyConfigured as error:
        yield broken("providers", str(error), "Start with the FIELD_ENCRYPTION_KEY that the data was saved with.")
        return
    with ThreadPoolExecutor(max_workers=8) as pool:
        yield from pool.map(_check, enabled)


def _check(provider: Provider) -> Finding:
    name = f"provider {provider.name}"
    try:
        adapter_for(provider.protocol)
    except BadRequest as error:
        return broken(name, f"It cannot be used: {error.detail}.", "Choose another protocol, or switch it off.")
    if provider.protocol == Protocol.SCRIPTED:
        return note(name, "It is scripted: a demo, not a model.", "Add a provider, or set OPENAI_API_KEY and restart.")
    if provider.protocol == Protocol.LITELLM and not provider.base_url:
        return note(name, f"litellm knows its address ({provider.litellm_provider}); it was not tried.", _TRY)
    if problem := _unreachable(provider.base_url):
        return broken(name, problem, "Check its address, and the network between here and there.")
    if not provider.api_key:
        return note(name, "It is within reach, and has no key.", "Set its key, unless it needs none.")
    return fine(name, "It is within reach and has a key.")


def _unreachable(base_url: str) -> str:
    """Why no connection can be made; empty if one can."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:
        return "Its address is not valid."
    if not host:
        return "It has no address."
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except OSError as error:
        return f"{host}:{port} cannot be reached: {error.strerror or error}."
    return ""
