"""Keys in the environment, which set up their provider at its default address or at a given one."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.serving import first_start
from llm_app.models import LLMLog, Provider, Route
from tests import factories
from tests.provider import FakeProvider, Received, Reply, models, openai_call, openai_text, running, sse
from tests.server import free_port
from tools_app.models import ToolSetting

ADDRESSES = {
    "OPENAI": "https://api.openai.com/v1",
    "ANTHROPIC": "https://api.anthropic.com",
    "GEMINI": "https://generativelanguage.googleapis.com/v1beta/openai",
    "DEEPSEEK": "https://api.deepseek.com/v1",
}
LOCAL = "http://127.0.0.1:9000/v1"


@pytest.fixture
def environment(db: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets variables, and removes all others with a key or an address."""
    for name in ADDRESSES:
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)

    def set_all(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_all


@pytest.mark.parametrize("name", ADDRESSES)
def test_provider_uses_its_default_address_or_the_given_one(name: str, environment: Any) -> None:
    for variables, address in (({}, ADDRESSES[name]), ({f"{name}_BASE_URL": LOCAL}, LOCAL)):
        Provider.objects.all().delete()
        environment(**{f"{name}_API_KEY": "a-key"}, **variables)
        first_start.ensure_model()
        provider = Provider.objects.get()
        assert (provider.name, provider.base_url, provider.api_key) == (name.lower(), address, "a-key")


def test_address_without_a_key_creates_no_provider(environment: Any) -> None:
    environment(OPENAI_BASE_URL=LOCAL)
    assert first_start.ensure_model().endswith("demo/demo")


def test_invalid_address_stops_the_start_with_a_sentence(environment: Any) -> None:
    environment(OPENAI_API_KEY="a-key", OPENAI_BASE_URL="127.0.0.1:9000")
    with pytest.raises(ImproperlyConfigured, match="OPENAI_BASE_URL.*http://"):
        first_start.ensure_model()
    assert not Route.objects.exists()


@pytest.mark.parametrize("is_on", [True, False])
def test_environment_lets_commands_install_packages_at_the_first_start(db: None, settings: Any, is_on: bool) -> None:
    settings.PACKAGES = is_on
    assert "AGENTSITE_PACKAGES=1" in first_start.packages_sentence()
    first_start.ensure_packages()
    assert [setting.can_install_packages for setting in ToolSetting.objects.filter(name="shell")] == [True] * is_on


def test_decision_of_an_administrator_outlives_the_next_start(db: None, settings: Any) -> None:
    settings.PACKAGES = True
    ToolSetting.objects.create(name="shell")
    first_start.ensure_packages()
    assert ToolSetting.objects.get().hosts == []
    assert first_start.packages_sentence() == ""


# --- the test of the provider ----------------------------------------------------------------------------------------


@pytest.fixture
def server(environment: Any) -> Iterator[FakeProvider]:
    """A server that lists two models and calls the tool of a test. Its key is in the environment."""
    with running() as provider:
        provider.model_list = models("text-embedding-3-small", "gpt-5.2", "gpt-6.1-sol")
        provider.replies = [openai_call("message", {"text": "ok"})]
        environment(OPENAI_API_KEY="a-key", OPENAI_BASE_URL=provider.base_url)
        yield provider


def start() -> tuple[Route, str]:
    """Return the route that answers after a start, and the printed verdict."""
    first_start.ensure_model()
    verdict = first_start.connect_model()
    route = Route.objects.usable_for("").first()
    assert route is not None
    return route, verdict


def test_preferred_listed_model_is_tested_and_then_used(server: FakeProvider) -> None:
    route, verdict = start()
    assert (route.provider_model, route.works) == ("gpt-6.1-sol", True)
    assert verdict.startswith("gpt-6.1-sol: It works (")
    assert route.model.context_window == 272_000
    assert [row["name"] for row in route.provider.listed_models] == ["gpt-6.1-sol", "gpt-5.2"]
    assert LLMLog.objects.get().purpose == "test"


def test_next_start_calls_no_provider(server: FakeProvider) -> None:
    start()
    asked, received = len(server.asked), len(server.received)
    assert start()[1] == ""
    assert (len(server.asked), len(server.received)) == (asked, received)


def test_model_unavailable_to_the_account_is_skipped(server: FakeProvider) -> None:
    unknown = Reply(status=404, chunks=[b'{"error": {"message": "The model `gpt-6.1-sol` does not exist"}}'])
    server.replies = [unknown, unknown, *server.replies]  # in both protocols of OpenAI
    route, verdict = start()
    assert (route.provider_model, route.works) == ("gpt-5.2", True)
    assert verdict.startswith("gpt-5.2: It works (")


def test_server_without_chat_completions_uses_responses(server: FakeProvider) -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "message", "arguments": '{"text": "ok"}'}
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    responses = sse(
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": {"status": "completed", "usage": usage}},
    )

    def answer(received: Received) -> Reply:
        return Reply(chunks=responses) if received.path.endswith("/responses") else Reply(status=404)

    server.replies = [answer]
    route, _ = start()
    assert (route.provider.protocol, route.provider_model, route.works) == ("openai_responses", "gpt-6.1-sol", True)


@pytest.mark.parametrize(
    ("listed", "trial", "words"),
    [
        (
            Reply(status=401, chunks=[b'{"error": {"message": "Incorrect API key"}}']),
            None,
            "The key is wrong (HTTP 401)",
        ),
        (models("gpt-5.2"), Reply(status=429, chunks=[b'{"error": {"code": "insufficient_quota"}}']), "no credit left"),
        (models("gpt-5.2"), Reply(status=500), "It reports an internal error"),
        (models("gpt-5.2"), openai_text("Hello!"), "did not call the tool"),
        (models("whisper-1"), Reply(status=404, chunks=[b"The model does not exist"]), "It does not know the model"),
    ],
    ids=["key", "credit", "error", "no tool", "no model"],
)
def test_failed_test_is_reported_and_the_server_starts(
    server: FakeProvider, listed: Reply, trial: Reply | None, words: str
) -> None:
    server.model_list, server.replies = listed, [trial or server.replies[0]]
    route, verdict = start()
    assert words in verdict
    assert (route.works, words in route.verdict) == (False, True)
    assert "a-key" not in verdict


def test_unreachable_provider_does_not_stop_the_start(environment: Any) -> None:
    environment(OPENAI_API_KEY="a-key", OPENAI_BASE_URL=f"http://127.0.0.1:{free_port()}/v1")
    route, verdict = start()
    assert "There is no answer at" in verdict
    assert route.works is False


def test_corrected_key_is_used_at_the_next_start(server: FakeProvider, environment: Any) -> None:
    working, server.model_list = server.model_list, Reply(status=401)
    start()
    server.model_list = working
    environment(OPENAI_API_KEY="another-key")
    route, verdict = start()
    assert (route.provider.api_key, route.provider_model, route.works) == ("another-key", "gpt-6.1-sol", True)
    assert "It works" in verdict
    assert route.model.routes.count() == 1


def test_start_keeps_a_chosen_model(server: FakeProvider) -> None:
    route, _ = start()
    Route.objects.filter(pk=route.pk).update(provider_model="gpt-5.2", works=False)
    route, verdict = start()
    assert (route.provider_model, route.works) == ("gpt-5.2", True)
    assert "gpt-5.2: It works" in verdict


def test_start_keeps_configured_providers(server: FakeProvider) -> None:
    factories.RouteFactory(
        model__is_default=True, provider__protocol="openai_native", provider_model="mine", works=False
    )
    assert start()[1] == ""
    assert server.asked == []


# --- the demo --------------------------------------------------------------------------------------------------------


def test_key_removes_the_demo_which_returns_without_providers(
    server: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert first_start.ensure_model() == "default → demo/demo"
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    route, _ = start()
    assert [str(one) for one in Route.objects.all()] == [str(route)]
    monkeypatch.delenv("OPENAI_API_KEY")
    route.provider.delete()
    assert first_start.ensure_model() == "default → demo/demo"
