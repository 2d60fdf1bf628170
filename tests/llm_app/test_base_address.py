"""Base addresses as people enter them, and the endpoints below them."""

import pytest
from django.core.exceptions import ValidationError

from llm_app.adapters.base import Endpoint
from llm_app.base_address import endpoint_address, tidied_address, versioned_address
from llm_app.models import Provider
from llm_app.protocols import adapter_for
from llm_app.setup.known_providers import completed_address


@pytest.mark.parametrize(
    ("entered", "endpoint"),
    [
        ("https://a.org/v1", "https://a.org/v1/chat/completions"),
        ("https://a.org/v1/", "https://a.org/v1/chat/completions"),
        (" https://a.org/v1//", "https://a.org/v1/chat/completions"),
        ("https://a.org", "https://a.org/chat/completions"),
        ("https://a.org/v1/chat/completions", "https://a.org/v1/chat/completions"),
        ("https://a.org/v1/chat/completions/", "https://a.org/v1/chat/completions"),
        ("https://a.org/v1/chat/completions/chat/completions", "https://a.org/v1/chat/completions"),
        ("https://a.org/v1/models", "https://a.org/v1/chat/completions"),
        ("https://a.org/v1/v1", "https://a.org/v1/chat/completions"),
        ("https://a.org/api/v4/v4/", "https://a.org/api/v4/chat/completions"),
        (
            "https://a.openai.azure.com/openai/deployments/x?api-version=2025-04-01-preview",
            "https://a.openai.azure.com/openai/deployments/x/chat/completions?api-version=2025-04-01-preview",
        ),
        (
            "https://a.org/openai/deployments/x/chat/completions?api-version=1",
            "https://a.org/openai/deployments/x/chat/completions?api-version=1",
        ),
        ("http://name:pass@[::1]:8080/v1", "http://name:pass@[::1]:8080/v1/chat/completions"),
        ("http://[", "http://[/chat/completions"),
    ],
)
def test_the_endpoint_below_an_entered_address(entered: str, endpoint: str) -> None:
    assert endpoint_address(entered, "chat/completions") == endpoint


@pytest.mark.parametrize(
    ("entered", "endpoint"),
    [
        ("https://a.org", "https://a.org/v1/messages"),
        ("https://a.org/v1", "https://a.org/v1/messages"),
        ("https://a.org/v1/messages", "https://a.org/v1/messages"),
        ("https://a.org/anthropic", "https://a.org/anthropic/v1/messages"),
        ("https://a.org/anthropic/v1/?beta=true", "https://a.org/anthropic/v1/messages?beta=true"),
    ],
)
def test_the_version_is_named_once(entered: str, endpoint: str) -> None:
    assert versioned_address(entered, "messages") == endpoint


def test_an_entered_address_is_stored_without_the_endpoint() -> None:
    provider = Provider(name="a", protocol="openai_native", base_url="https://a.org/v1/chat/completions")
    provider.clean()
    assert provider.base_url == "https://a.org/v1" == tidied_address(provider.base_url)
    with pytest.raises(ValidationError):
        Provider(name="a", base_url="http://a.org:port").clean()


@pytest.mark.parametrize(
    ("entered", "completed"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://generativelanguage.googleapis.com/", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("https://api.anthropic.com", "https://api.anthropic.com"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[", "http://["),
    ],
)
def test_a_missing_path_of_a_known_provider_is_completed(entered: str, completed: str) -> None:
    assert completed_address(entered) == completed


def test_azure_takes_its_key_in_a_header_of_its_own() -> None:
    def headers(base_url: str) -> object:
        return adapter_for("openai_native").request(b"", Endpoint(base_url=base_url, api_key="k")).headers

    azure = headers("https://a.openai.azure.com/openai/v1")
    assert (azure.get("api-key"), azure.get("Authorization")) == ("k", None)
    other = headers("https://azure.com.a.org/v1")
    assert (other.get("api-key"), other.get("Authorization")) == (None, "Bearer k")
