"""Checks of the administrators' setup: models, providers, breakers, MCP servers, skills, plugins and hooks."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F

from agentsite.checks.messages import broken, note, ok
from llm_app import protocols
from llm_app.connection_test import check_models
from llm_app.models import BreakerState, CircuitBreaker, LogicalModel, ModelKind, Protocol, Provider, Route
from llm_app.pricing import unpriced
from llm_app.provider_status import status_of, status_of_provider
from tasks_app.services import diagnosis
from tools_app.contract import registry as tool_registry
from tools_app.hooks import BrokenHook, plugins
from tools_app.models import McpServer, McpTool, Skill
from tools_app.skills import description_remark, installed_skills, refused_skills

_CHEAP = (ModelKind.TEXT, ModelKind.EMBEDDING)  # tests of images and sound cost too much
_RESET = "Reset its breaker in the admin to return it to automatic operation."


def default_model_has_a_route() -> CheckMessage:
    """Check the provider of tasks without a chosen model. No provider is called."""
    models = LogicalModel.objects.values_list("is_default", flat=True)
    if models and not any(models):
        sentence = "No model is the default, so sessions that name none have no model."
        return broken(37, "model", sentence, "In the admin, choose one with the action “Make this the default model”.")
    route = Route.objects.usable_for("").defer("provider__api_key").first()
    if route is None:
        sentence = "The default model has no enabled route."
        return broken(30, "model", sentence, "Enter a key on the first page, or add a provider and a route.")
    status = status_of(route)
    if status.works is False:
        sentence = f"{route} does not answer. {status.sentence}"
        return broken(36, "model", sentence, "Correct it in the admin, or enter another key on the first page.")
    return ok(30, "model", f"The first route of the default model is {route}.")


def limits_in_usd_count() -> CheckMessage:
    """Check that every model has a price, if a budget has a limit in US dollars."""
    if sentence := unpriced.warning_for_budgets():
        return note(38, "prices", sentence, "In the admin, open the route under Routes.")
    return ok(38, "prices", "No limit in US dollars depends on an unknown price.")


def tasks_progress() -> Iterator[CheckMessage]:
    """Yield one message for each stuck task, with the reason."""
    stuck = diagnosis.stuck_tasks()
    for task in stuck:
        reason = diagnosis.reasons(task)[0]
        hint = reason.hint or "Its session's page “What the task is doing” says more."
        process = f" ({reason.process})" if reason.process else ""
        yield broken(16, f"task {task.pk}", f"{reason.sentence}{process}", hint)
    if not stuck:
        yield ok(15, "tasks", "No task is stuck.")


def providers_answer() -> Iterator[CheckMessage]:
    """Yield one message for each enabled provider, after a real call of at most a minute to each of its models.

    The demo counts only while a model is routed to it.
    """
    try:
        enabled = list(Provider.objects.filter(enabled=True).exclude(protocol=Protocol.SCRIPTED, routes=None))
    except ImproperlyConfigured as error:
        hint = "Start with the FIELD_ENCRYPTION_KEY that the data was saved with."
        yield broken(31, "providers", str(error), hint)
        return
    yield from map(_provider_answers, enabled)


def _provider_answers(provider: Provider) -> CheckMessage:
    name = f"provider {provider.name}"
    if provider.protocol == Protocol.SCRIPTED:
        hint = "Enter a key on the first page, or set OPENAI_API_KEY and restart."
        return note(32, name, "It is scripted: a demo, not a model.", hint)
    outcomes = list(check_models(provider, _CHEAP))
    if not outcomes:
        sentence = "It was not asked: no model of text is routed to it."
        return note(33, name, sentence, "Add a route, or test it in the admin.")
    sentences = " ".join(f"{outcome.model}: {outcome.sentence}" for outcome in outcomes)
    if all(outcome.ok for outcome in outcomes):
        return ok(34, name, sentences)
    return broken(34, name, sentences, "Correct it in the admin, under Providers; the button Test there asks again.")


def providers_answered() -> Iterator[CheckMessage]:
    """Yield one message for each enabled provider whose last call or test failed. No provider is called."""
    providers = Provider.objects.filter(enabled=True, routes__isnull=False).exclude(protocol=Protocol.SCRIPTED)
    for provider in providers.defer("api_key").distinct():
        status = status_of_provider(provider)
        if status.works is False:
            hint = "Correct it in the admin, under Providers; the button Test there asks again."
            yield broken(39, f"provider {provider.name}", status.sentence, hint)


def breakers_are_closed() -> Iterator[CheckMessage]:
    """Yield one message for each breaker of an enabled provider that is not closed, or that was forced."""
    rows = CircuitBreaker.objects.filter(provider__enabled=True).exclude(state=BreakerState.CLOSED, forced=False)
    for breaker in rows.select_related("provider").defer("provider__api_key").order_by("provider__name"):
        yield _breaker_is_closed(f"breaker {breaker.provider.name}", breaker)


def _breaker_is_closed(name: str, breaker: CircuitBreaker) -> CheckMessage:
    if breaker.forced and breaker.state == BreakerState.OPEN:
        return note(40, name, "It is forced open: this provider is not called.", _RESET)
    if breaker.forced:
        return note(41, name, "It is forced closed: this provider is called, however often it fails.", _RESET)
    if breaker.key_refused:
        return broken(42, name, "It is open: this provider does not accept its key.", "Set the right key in the admin.")
    if breaker.state == BreakerState.HALF_OPEN:
        return note(43, name, "It is half-open: one call tests whether this provider answers again.")
    hint = "It is retried automatically; the LLM calls in the admin show what failed."
    return broken(44, name, f"It is open, so this provider is not called. {breaker.reason}", hint)


def mcp_servers_are_listed() -> Iterator[CheckMessage]:
    """Yield the problems of the last listing. No server is called."""
    hint = "Repair it, or switch it off in the admin; it is retried automatically."
    for server in McpServer.objects.filter(enabled=True).exclude(fault=""):
        yield broken(50, f"MCP server {server}", server.fault, hint)
    for server in McpServer.objects.filter(enabled=True).exclude(skipped={}):
        reasons = " ".join(f"{name}: {reason}" for name, reason in server.skipped.items())
        hint = "Its other tools work. Report this to its makers."
        yield note(52, f"tools of the MCP server {server}", f"Some are skipped. {reasons}", hint)
    unconfirmed = McpTool.objects.filter(server__enabled=True, is_gone=False).exclude(confirmed=F("digest"))
    for name in unconfirmed.order_by("server__name").values_list("server__name", flat=True).distinct():
        sentence = "Some of its tools are new or changed and must be confirmed before they are used."
        yield note(51, f"MCP server {name}", sentence, "Confirm them in the admin.")


def skills_are_valid() -> Iterator[CheckMessage]:
    """Yield the folders that are left out, and descriptions that other programs would not accept."""
    folder = Path(settings.SKILLS_DIR)
    for path, reason in refused_skills(folder).items():
        yield note(
            60, f"skill {path.parent.name}", f"{path} is left out: {reason}", "Correct it, or remove its folder."
        )
    descriptions = {name: skill.description for name, skill in installed_skills(folder).items()}
    descriptions |= dict(Skill.objects.values_list("name", "description"))
    for name, description in descriptions.items():
        if sentence := description_remark(description):
            yield note(61, f"skill {name}", sentence)


def protocols_are_loaded() -> Iterator[CheckMessage]:
    """Yield one message for each plugin whose protocol cannot be used."""
    for name, fault in protocols.plugins().faults.items():
        sentence = f"The plugin of the protocol {name} cannot be used ({fault})."
        yield broken(35, f"protocol {name}", sentence, "Repair or uninstall it. All other protocols work.")


def hooks_are_loaded() -> Iterator[CheckMessage]:
    """Check that all hooks can be loaded: a faulty one refuses every call. Yield nothing without hooks."""
    hooks = plugins(tuple(settings.HOOKS))
    if faulty := [hook.name for hook in hooks if isinstance(hook, BrokenHook)]:
        sentence = f"{', '.join(faulty)} cannot be loaded, so every call of a tool is refused."
        hint = "The log says why. Repair or uninstall it, or remove it from AGENTSITE_HOOKS."
        yield broken(100, "hooks", sentence, hint)
    elif hooks:
        yield ok(100, "hooks", f"They look at each call: {', '.join(hook.name for hook in hooks)}.")


def tool_plugins_are_loaded() -> Iterator[CheckMessage]:
    """Yield one message for each packaged tool that cannot be loaded. All others run."""
    for name, reason in tool_registry.plugin_errors().items():
        hint = "The log has the traceback. Repair or uninstall the package, and restart."
        yield broken(105, f"tool {name}", f"It cannot be loaded: {reason}", hint)
