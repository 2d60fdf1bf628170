"""Fakes of real providers, and a session whose model they answer."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llm_app.models import LLMLog, LogicalModel
from llm_app.protocols import adapters
from tasks_app import services
from tasks_app.models import Session
from tests import factories
from tests.contracts.contract import Contract, StrictProvider
from tests.provider import FakeProvider, running
from tests.tasks_app.engine.conftest import Run, owner  # noqa: F401  a fixture: it verifies every request, too

pytest.register_assert_rewrite("tests.contracts.report_checks")


@pytest.fixture(scope="module")
def servers() -> Iterator[list[FakeProvider]]:
    """Two servers, for failover. They serve all tests of a file."""
    with running() as first, running() as second:
        yield [first, second]


class World:
    """A session whose model is answered by strict providers, in their order."""

    def __init__(self, person: Any, providers: list[StrictProvider], **route: Any) -> None:
        self.owner, self.providers = person, providers
        self.model: LogicalModel = factories.LogicalModelFactory(context_window=60_000, max_output_tokens=4_000)
        for priority, provider in enumerate(providers, 1):
            _route(self.model, provider, priority, **route)
        self.session: Session = factories.SessionFactory(owner=person, model=self.model)

    def post(self, text: str, **options: Any) -> Run:
        """Return the run of the task that the message starts."""
        delivered = services.post_message(self.session, self.owner, text, **options)
        assert delivered.task is not None
        return Run(delivered.task)

    def check(self) -> None:
        """Assert that nothing was rejected, and that the script was played to its end."""
        assert [refusal for provider in self.providers for refusal in provider.refusals] == []
        assert not LLMLog.objects.filter(status="failed", error__contains="HTTP 4").exists()
        assert [provider.script for provider in self.providers if provider.script] == []


def _route(model: LogicalModel, provider: StrictProvider, priority: int, **fields: Any) -> None:
    contract = provider.contract
    row = factories.ProviderFactory(
        protocol=provider.protocol, base_url=provider.base_url, api_key="sk-a-key", timeout_s=10
    )
    values = {
        "provider_model": contract.model,
        "takes_images": contract.takes_images,
        "quirks": dict(contract.quirks),
    }
    factories.RouteFactory(model=model, provider=row, priority=priority, **values | fields)


@pytest.fixture
def world(owner: Any, servers: list[FakeProvider]) -> Callable[..., World]:  # noqa: F811
    """Return a factory of sessions that are answered by contracts, each with a protocol."""

    def make(*peers: tuple[Contract, str], **route: Any) -> World:
        for _, protocol in peers:
            if protocol not in adapters():
                pytest.skip(f"there is no protocol {protocol}")
        providers = [
            StrictProvider(contract, server, protocol)
            for (contract, protocol), server in zip(peers, servers, strict=False)
        ]
        return World(owner, providers, **route)

    return make
