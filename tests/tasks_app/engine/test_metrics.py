"""`/metrics`: what all workers have counted, and the state of tasks and breakers, for Prometheus and administrators."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from rest_framework.test import APIClient

from llm_app.models import BreakerState, CircuitBreaker
from tasks_app.models import EngineProcess, Sample
from tasks_app.runtime import metrics
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result

CALLS, ITERATIONS = "agentsite_llm_calls_total", "agentsite_iterations_total"


def scraped(user: Any) -> dict[str, float]:
    """Return name with labels → value, as Prometheus reads the answer."""
    client = APIClient()
    client.force_authenticate(user)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    return {
        f"{sample.name}{sorted(sample.labels.values()) or ''}": sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


@pytest.fixture
def watcher(db: None) -> Any:
    user = factories.UserFactory(username="watcher")
    user.user_permissions.add(Permission.objects.get(codename="view_engineprocess"))
    return user


def test_metrics_need_the_permission(alice: Any, watcher: Any) -> None:
    client = APIClient()
    assert client.get("/metrics").status_code == 401
    client.force_authenticate(alice)
    assert client.get("/metrics").status_code == 403
    scraped(watcher)
    scraped(factories.UserFactory(is_superuser=True))


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "text/plain",
        "application/openmetrics-text",
        "text/html",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;"
        "version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,/;q=0.1",
    ],
)
def test_metrics_are_always_text(watcher: Any, accept: str) -> None:
    client = APIClient()
    client.force_authenticate(watcher)
    answer = client.get("/metrics", headers={"Accept": accept})
    assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, "text/plain")


def test_tasks_are_counted_by_state_and_breakers_shown(watcher: Any, session: Any) -> None:
    factories.TaskFactory(session=session)
    broken, fine = factories.ProviderFactory(name="broken"), factories.ProviderFactory(name="fine")
    CircuitBreaker.objects.create(provider=broken, state=BreakerState.OPEN)
    found = scraped(watcher)
    assert (found["agentsite_tasks['initializing']"], found["agentsite_tasks['done']"]) == (1, 0)
    assert (found[f"agentsite_breaker_state['{broken.name}']"], found[f"agentsite_breaker_state['{fine.name}']"]) == (
        2,
        0,
    )
    assert found["agentsite_websockets"] == 0


def test_metrics_count_a_tasks_calls_tokens_and_waits(play: Any, watcher: Any) -> None:
    metrics.store_heartbeat()
    before = scraped(watcher)
    run: Run = play(call("file", action="list", path="."), result())
    run.advance()
    metrics.store_heartbeat()
    after = scraped(watcher)
    provider = run.task.session.model.routes.get().provider.name
    grown = {name: value - before.get(name, 0) for name, value in after.items()}
    assert grown[ITERATIONS] == 2
    assert grown[f"{CALLS}['{provider}', 'succeeded']"] == 2
    assert grown[f"agentsite_llm_tokens_total['input', '{provider}']"] > 0
    assert grown["agentsite_queue_delay_seconds_count"] == grown["agentsite_queue_delay_seconds_bucket['+Inf']"] == 1


def test_a_task_of_a_dead_worker_is_a_takeover(play: Any, watcher: Any) -> None:
    run: Run = play(result())
    run.task.lease_owner, run.task.lease_expires_at = "other:1", timezone.now() - timedelta(seconds=1)
    run.task.save()
    metrics.store_heartbeat()
    before = scraped(watcher)["agentsite_lease_takeovers_total"]
    run.advance()
    metrics.store_heartbeat()
    assert scraped(watcher)["agentsite_lease_takeovers_total"] == before + 1


def test_sums_do_not_fall_when_processes_are_forgotten(watcher: Any) -> None:
    ours = [Sample(ITERATIONS, {}, 3.0), Sample(CALLS, {"provider": "p", "outcome": "failed"}, 2.0)]
    for name, days in (("a:1", 3), ("b:2", 2), ("c:3", 0)):
        seen_at = timezone.now() - timedelta(days=days)
        EngineProcess.objects.create(name=name, seen_at=seen_at, counted=ours)
    sums = {ITERATIONS: 9.0, f"{CALLS}['failed', 'p']": 6.0}
    assert sums.items() <= scraped(watcher).items()
    for name in ("d:4", "e:5"):
        EngineProcess.objects.beat(name)
        assert sums.items() <= scraped(watcher).items()
    assert EngineProcess.objects.count() == 4  # c, d, e, and one for forgotten processes
