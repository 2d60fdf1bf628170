"""Fixtures for the operator's side: configuration files, and an administrator in a browser."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agentsite.configuration import apply, load
from llm_app.models import Provider
from tests import factories
from tests.provider import FakeProvider, openai_call, running

Configure = Callable[..., list[str]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes the configuration file."""

    def write(text: str) -> Path:
        path = tmp_path / "agentsite.yml"
        path.write_text(dedent(text))
        return path

    return write


@pytest.fixture
def configure(db: None, write: Callable[[str], Path]) -> Configure:
    """Return a function that applies a configuration and returns the changes."""

    def configure(text: str, environment: Mapping[str, str] | None = None) -> list[str]:
        return apply(load(write(text), environment or {}))

    return configure


@pytest.fixture
def root(db: None) -> Any:
    return get_user_model().objects.create_superuser("root", password="a password")


@pytest.fixture
def browser(root: Any) -> Client:
    """The administrator's browser."""
    client = Client()
    client.force_login(root, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.fixture
def server() -> Iterator[FakeProvider]:
    """A model server whose first answer passes the connection test."""
    with running() as provider:
        provider.replies = [openai_call("message", {"text": "ok"})]
        yield provider


@pytest.fixture
def main(db: None, server: FakeProvider) -> Provider:
    """A provider called main, with one route to that server."""
    route = factories.RouteFactory(
        provider_model="fast-1",
        provider__name="main",
        provider__protocol="openai_native",
        provider__base_url=server.base_url,
        provider__api_key="sk-very-secret",
    )
    provider: Provider = route.provider
    return provider
