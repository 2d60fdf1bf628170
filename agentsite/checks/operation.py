"""The model providers: each is asked for a word, as the Test button of the admin does it."""

from collections.abc import Iterator

from django.core.exceptions import ImproperlyConfigured

from agentsite.checks.messages import Finding, broken, fine, note
from llm_app.connection_test import try_models
from llm_app.models import ModelKind, Protocol, Provider, Route

_CHEAP = (ModelKind.TEXT, ModelKind.EMBEDDING)  # a picture or a sound costs more than a word


def default_model() -> Finding:
    """Whether there is somebody to ask where nobody chose a model. Nobody is asked here."""
    route = Route.objects.usable_for("").defer("provider__api_key").first()
    if route is None:
        return broken("model", "The default model has no enabled route.", "Add a provider and a route in the admin.")
    return fine("model", f"The first route of the default model is {route}.")


def each() -> Iterator[Finding]:
    """One finding for each enabled provider, after a real call of at most a minute for each of its models.

    The demo counts only while a model is routed to it.
    """
    try:
        enabled = list(Provider.objects.filter(enabled=True).exclude(protocol=Protocol.SCRIPTED, routes=None))
    except ImproperlyConfigured as error:
        yield broken("providers", str(error), "Start with the FIELD_ENCRYPTION_KEY that the data was saved with.")
        return
    yield from map(_check, enabled)


def _check(provider: Provider) -> Finding:
    name = f"provider {provider.name}"
    if provider.protocol == Protocol.SCRIPTED:
        return note(name, "It is scripted: a demo, not a model.", "Add a provider, or set OPENAI_API_KEY and restart.")
    outcomes = list(try_models(provider, _CHEAP))
    if not outcomes:
        return note(
            name, "It was not asked: no model of text is routed to it.", "Add a route, or test it in the admin."
        )
    said = " ".join(f"{outcome.model}: {outcome.sentence}" for outcome in outcomes)
    if all(outcome.ok for outcome in outcomes):
        return fine(name, said)
    return broken(name, said, "Correct it in the admin, under Providers; the button Test there asks again.")
