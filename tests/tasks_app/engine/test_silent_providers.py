"""Silent providers: the task's row, page and REST show since when, and when the call is given up."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from llm_app.models import Provider
from tasks_app import services
from tasks_app.models import Task
from tasks_app.runtime import broadcast
from tasks_app.services.diagnosis import reasons
from tasks_app.worker import silences
from tests import factories
from tests.provider import Reply, openai_result
from tests.waiting import until

STALL = Reply(stall_at=0, stall_s=20)


@pytest.fixture(autouse=True)
def _short_silence(monkeypatch):
    monkeypatch.setattr(silences, "QUIET_SECONDS", 0.3)


@pytest.fixture
def watcher():
    """A function that runs the supervisor's check until the silence is stored or cleared, and returns it."""
    silent = silences.Silences()

    def look_until(task, is_silent):
        def is_noted():
            silent.update()
            task.refresh_from_db()
            return bool(task.silent_provider) == is_silent

        until(is_noted)
        return task.silent_provider

    return look_until


def stopped(run, thread):
    services.stop(run.task)
    thread.join(30)


def test_a_silent_provider_is_named_with_the_limit_of_its_route(ask_http, http_provider, watcher):
    http_provider.replies = [STALL]
    run = ask_http()
    thread = run.in_thread()
    noted = watcher(run.task, True)
    since, end = (datetime.fromisoformat(noted[name]) for name in ("since", "gives_up_at"))
    assert noted["provider"] == Provider.objects.get().name
    assert abs((end - since).total_seconds() - 5) < 0.1  # the provider's timeout_s
    assert abs((datetime.now(UTC) - since).total_seconds()) < 10
    (reason,) = reasons(run.task)
    assert reason.sentence == f"Nothing from {noted['provider']} for {_seconds_since(since)} s, gives up at 5 s."
    stopped(run, thread)
    watcher(run.task, False)


def _seconds_since(moment):
    return round((datetime.now(UTC) - moment).total_seconds())


def test_the_page_counts_and_rest_says_it(ask_http, http_provider, watcher):
    http_provider.replies = [STALL]
    run = ask_http()
    thread = run.in_thread()
    noted = watcher(run.task, True)
    browser = Client()
    browser.force_login(run.task.started_by, backend="allauth.account.auth_backends.AuthenticationBackend")
    page = browser.get(run.task.session.get_absolute_url()).content.decode()
    assert f'Nothing from <b>{noted["provider"]}</b> for <span data-since="{noted["since"]}">' in page
    assert "gives up at 5 s." in page
    shown = browser.get(f"/api/v1/tasks/{run.task.pk}/").json()["silence"]
    assert shown == noted
    assert broadcast.state_of(run.task)["silence"] == noted  # of the event stream
    stopped(run, thread)
    assert browser.get(f"/api/v1/tasks/{run.task.pk}/").json()["silence"] is None
    assert "Nothing from" not in browser.get(run.task.session.get_absolute_url()).content.decode()


def test_the_active_route_is_named(ask_http, http_provider, http_session, watcher):
    Provider.objects.update(name="main", timeout_s=1)
    backup = factories.ProviderFactory(
        name="backup", protocol="openai_native", base_url=http_provider.base_url, timeout_s=9
    )
    factories.RouteFactory(model=http_session.model, provider=backup, provider_model="fake-2", priority=2)
    http_provider.replies = [STALL] * 5
    run = ask_http()
    thread = run.in_thread()
    assert watcher(run.task, True)["provider"] == "main"
    until(lambda: (noted := watcher(run.task, True)) and noted["provider"] == "backup")
    stopped(run, thread)


def test_a_silence_is_written_once_and_removed_once(ask_http, http_provider):
    http_provider.replies = [Reply(chunks=openai_result().chunks, stall_at=0, stall_s=2)]
    run = ask_http()
    thread = run.in_thread()
    silent, updates = silences.Silences(), []
    while thread.is_alive():
        with CaptureQueriesContext(connection) as queries:
            silent.update()
        updates += [query["sql"] for query in queries if query["sql"].startswith("UPDATE")]
        thread.join(0.02)
    silent.update()
    run.task.refresh_from_db()
    assert run.task.state == "done"
    assert len(updates) <= 2
    assert any("provider" in update for update in updates)


def test_a_silence_of_an_earlier_lease_is_not_shown(db: Any) -> None:
    noted = {"provider": "main", "since": "2026-01-01T00:00:00+00:00", "gives_up_at": "2026-01-01T00:02:00+00:00"}
    task = Task(state="thinking", epoch=3, silence={**noted, "epoch": 3})
    assert task.silent_provider == noted
    assert Task(state="thinking", epoch=4, silence={**noted, "epoch": 3}).silent_provider is None
    assert Task(state="executing_tool", epoch=3, silence={**noted, "epoch": 3}).silent_provider is None
