"""A key in the environment sets up its provider, at the provider's own address or at the one that is named beside it."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.serving import first_start
from llm_app.models import Provider, Route

ADDRESSES = {
    "OPENAI": "https://api.openai.com/v1",
    "ANTHROPIC": "https://api.anthropic.com",
    "GEMINI": "https://generativelanguage.googleapis.com/v1beta/openai",
    "DEEPSEEK": "https://api.deepseek.com/v1",
}
LOCAL = "http://127.0.0.1:9000/v1"


@pytest.fixture
def environment(db: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets variables; all others that name a key or an address are gone."""
    for name in ADDRESSES:
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)

    def set_all(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_all


@pytest.mark.parametrize("name", ADDRESSES)
def test_its_provider_has_its_own_address_or_the_one_that_is_named(name: str, environment: Any) -> None:
    for variables, address in (({}, ADDRESSES[name]), ({f"{name}_BASE_URL": LOCAL}, LOCAL)):
        Provider.objects.all().delete()
        environment(**{f"{name}_API_KEY": "a-key"}, **variables)
        first_start.ensure_model()
        provider = Provider.objects.get()
        assert (provider.name, provider.base_url, provider.api_key) == (name.lower(), address, "a-key")


def test_an_address_without_a_key_sets_up_nothing(environment: Any) -> None:
    environment(OPENAI_BASE_URL=LOCAL)
    assert first_start.ensure_model().endswith("demo/demo")


def test_an_address_that_is_none_stops_the_start_with_a_sentence(environment: Any) -> None:
    environment(OPENAI_API_KEY="a-key", OPENAI_BASE_URL="127.0.0.1:9000")
    with pytest.raises(ImproperlyConfigured, match="OPENAI_BASE_URL.*http://"):
        first_start.ensure_model()
    assert not Route.objects.exists()
