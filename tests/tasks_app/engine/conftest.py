"""Tasks that run in the test's process: by hand, or in a thread as in a worker."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from django.db import connection

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.models import ContextEntry, Session, Task
from tasks_app.replay import verification
from tasks_app.worker import jobs
from tests import factories, provider


@dataclass
class Run:
    """A task and its record."""

    task: Task

    def advance(self) -> Task:
        """Advance the task as a worker does, until it waits or ends."""
        jobs.advance(self.task.pk)
        self.task.refresh_from_db()
        return self.task

    def in_thread(self) -> threading.Thread:
        def work() -> None:
            try:
                jobs.advance(self.task.pk)
            finally:
                connection.close()

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    @property
    def entries(self) -> list[ContextEntry]:
        return list(ContextEntry.objects.in_session(self.task.session))

    @property
    def types(self) -> list[str]:
        return [entry.context_type for entry in self.entries]

    def results(self) -> list[tuple[str, str]]:
        """Return status and content of each tool result."""
        found = [entry for entry in self.entries if entry.context_type == "tool_result"]
        return [(entry.metadata["status"], entry.content) for entry in found]


def script(*replies: Any) -> str:
    """Return the text that the scripted model plays. It may contain scripts of other tasks."""
    text = yaml.safe_dump(list(replies), allow_unicode=True)
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text) or [""]))
    return f"{fence}script\n{text}{fence}"


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def result(text: str = "Done.") -> dict[str, Any]:
    return call("message", type="result", text=text)


@pytest.fixture
def owner(transactional_db: None, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A user. Afterwards, each request of her tasks must be rebuildable, and each chain valid."""
    yield factories.UserFactory(username="olga")
    if "tampered" not in request.fixturenames:
        for session in Session.objects.all():
            calls = LLMLog.objects.filter(session_id=session.pk).exclude(adapter="x")  # those of `factories`
            found = verification.of_session(session, calls)
            assert found.mismatches + found.broken_chains == []


@pytest.fixture
def tampered() -> None:
    """Disable the final checks, for a test that changes the record on purpose."""


@pytest.fixture
def play(owner: Any) -> Callable[..., Run]:
    """Start a task whose model plays the given replies."""
    session = factories.SessionFactory(owner=owner, model=factories.scripted_model("script"))

    def start(*replies: Any, **options: Any) -> Run:
        delivered = services.post_message(session, owner, script(*replies), **options)
        assert delivered.task is not None
        return Run(delivered.task)

    return start


@pytest.fixture
def http_provider() -> Iterator[provider.FakeProvider]:
    with provider.running() as running:
        yield running


@pytest.fixture
def http_session(owner: Any, http_provider: provider.FakeProvider) -> Session:
    """A session whose model is answered over real HTTP."""
    row = factories.ProviderFactory(protocol="openai_native", base_url=http_provider.base_url, timeout_s=5)
    route = factories.RouteFactory(provider=row, provider_model="fake-1")
    session: Session = factories.SessionFactory(owner=owner, model=route.model)
    return session


@pytest.fixture
def ask_http(owner: Any, http_session: Session) -> Callable[..., Run]:
    def start(text: str = "Go.", **options: Any) -> Run:
        delivered = services.post_message(http_session, owner, text, **options)
        assert delivered.task is not None
        return Run(delivered.task)

    return start
