"""A call that never reached its provider costs nothing; one that was sent is charged when it is interrupted."""

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llm_app.models import LLMLog
from tasks_app import services
from tests import factories
from tests.provider import FakeProvider, Reply
from tests.tasks_app.engine.conftest import Run
from tests.waiting import until


@pytest.fixture
def silent_port() -> Iterator[socket.socket]:
    """A port that accepts connections and answers nothing, so that no TLS handshake ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_a_call_that_is_stopped_while_it_connects_costs_nothing(owner: Any, silent_port: socket.socket) -> None:
    address = f"https://127.0.0.1:{silent_port.getsockname()[1]}/v1"
    provider = factories.ProviderFactory(protocol="openai_native", base_url=address)
    route = factories.RouteFactory(provider=provider, price={"input": 1, "output": 1})
    delivered = services.post_message(factories.SessionFactory(owner=owner, model=route.model), owner, "Go.")
    assert delivered.task is not None
    log = _log_of_stopped(Run(delivered.task), lambda: bool(silent_port.accept()))
    assert (log.status, log.input_tokens, log.cost_usd) == ("aborted", 0, None)


def test_a_call_that_is_stopped_after_it_was_sent_is_charged(
    ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    http_provider.replies = [Reply(stall_at=0)]
    log = _log_of_stopped(ask_http(), http_provider.stalling.is_set)
    assert log.status == "aborted"
    assert log.input_tokens > 1_000


def _log_of_stopped(run: Run, has_begun: Callable[[], bool]) -> LLMLog:
    thread = run.in_thread()
    until(has_begun)
    services.stop(run.task)
    thread.join(30)
    return LLMLog.objects.get(task_id=run.task.pk)
