"""Scripted tasks, and sinks that receive their events."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llm_app.models import ServiceKey
from tasks_app.models import TraceSink
from tasks_app.tracing import delivery
from tests.provider import FakeProvider, running
from tests.tasks_app.engine.conftest import ask_http, http_provider, http_session, owner, play, tampered  # noqa: F401
from tests.tasks_app.tracing.receiver import KEY, Collector, Endpoint
from tools_app.models import AllowedAddress


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Any) -> None:
    settings.TRACES_DIR = tmp_path / "traces"


@pytest.fixture
def server() -> Iterator[FakeProvider]:
    with running() as listening:
        address = listening.base_url.removeprefix("http://").removesuffix("/v1")
        AllowedAddress.objects.create(address=address)
        yield listening


@pytest.fixture
def endpoint(server: FakeProvider) -> Endpoint:
    found = Endpoint()
    server.replies = [found]
    return found


@pytest.fixture
def collector(server: FakeProvider) -> Collector:
    found = Collector()
    server.replies = [found]
    return found


@pytest.fixture
def sink(transactional_db: None, request: pytest.FixtureRequest) -> Callable[..., TraceSink]:
    """A new sink; one over HTTP sends to `server`."""

    def make(kind: str, name: str = "main", **fields: Any) -> TraceSink:
        if kind != "file" and "url" not in fields:
            fields["url"] = f"{request.getfixturevalue('server').base_url}/traces"
        if kind == "http":
            ServiceKey.store(f"trace.{name}", KEY)
        row: TraceSink = TraceSink.objects.create(name=name, kind=kind, **fields)
        return row

    return make


@pytest.fixture
def deliver() -> Callable[[TraceSink], TraceSink]:
    """Return a function that claims a sink and delivers to it, as the tracer does."""

    def work(sink: TraceSink) -> TraceSink:
        sink.refresh_from_db()
        assert delivery.claim(sink)
        delivery.deliver(sink)
        TraceSink.objects.filter(pk=sink.pk).update(claimed_by="")
        found: TraceSink = TraceSink.objects.with_lag().get(pk=sink.pk)
        sink.__dict__.update(found.__dict__)
        return found

    return work
