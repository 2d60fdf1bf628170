"""The circuit breaker of a provider: calls through the client over real HTTP, and the breaker's row."""

import logging
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from llm_app import errors
from llm_app.breaker import changes
from llm_app.call import Action
from llm_app.models import BreakerChange, BreakerState, CircuitBreaker, LLMLog, Provider
from tests.llm_app.conftest import Impatient, Interrupted, Watcher, complete, cooldown_is_over, interrupted, routed
from tests.provider import Reply, openai_text
from tests.waiting import check_bound

pytestmark = pytest.mark.django_db
FINE = openai_text("fine")
DOWN = Reply(status=500)


def state() -> str:
    return CircuitBreaker.objects.get().state


def history() -> list[tuple[str, str]]:
    return [(change.before, change.after) for change in BreakerChange.objects.order_by("pk")]


@pytest.fixture
def server(servers):
    return servers[0]


@pytest.fixture
def opened(model, server):
    """The model, after its provider has failed often enough."""
    server.replies = [DOWN]
    with pytest.raises(errors.ProviderUnavailable):
        complete(model)
    assert state() == "open"
    server.received.clear()
    return model


def test_a_successful_call_reads_the_breaker_with_the_routes_and_writes_nothing(model, server):
    server.replies = [FINE]
    with CaptureQueriesContext(connection) as captured:
        assert complete(model) == "fine"
    (read,) = [query["sql"] for query in captured if "breaker" in query["sql"]]
    assert 'FROM "routes"' in read
    assert not [query for query in captured if 'FROM "llm_logs"' in query["sql"]], "the window is for failures only"


def test_breaker_opens_when_enough_of_the_newest_calls_failed(model, server):
    server.replies = [FINE, FINE, FINE, DOWN, DOWN, FINE]
    for _ in range(3):
        complete(model)
    with pytest.raises(errors.ProviderUnavailable):
        complete(model)  # 3 + 1 calls: a quarter failed; with the second failure, half of the last four failed
    assert len(server.received) == 5
    assert history() == [("closed", "open")]
    assert "2 of its last 4 calls failed" in BreakerChange.objects.get().reason


def test_an_open_breaker_ends_the_attempts_immediately(model, server):
    server.replies, watcher = [DOWN], Watcher()
    with pytest.raises(errors.ProviderUnavailable):
        complete(model, watcher)
    assert [(name, then) for name, then, _ in watcher.failures] == [
        ("ServerError", Action.RETRY),
        ("ServerError", Action.GIVE_UP),
    ]


def test_while_it_is_open_nothing_is_sent_and_nothing_is_logged(opened, server):
    logs = LLMLog.objects.count()
    with pytest.raises(errors.ProviderUnavailable):
        complete(opened)
    assert server.received == []
    assert LLMLog.objects.count() == logs


def test_while_it_is_open_the_next_route_answers_within_100_ms(servers):
    model = routed(servers[:2])
    servers[0].replies, servers[1].replies = [Reply(chunks=[b"data: {}"], stall_at=0)], [FINE]
    Provider.objects.filter(routes__priority=1).update(timeout_s=0.05)
    assert complete(model) == "fine"
    assert state() == "open"
    servers[0].received.clear()
    check_bound(min(seconds(model) for _ in range(5)), 0.1)  # the fastest of five
    assert servers[0].received == []


def seconds(model) -> float:
    began = time.monotonic()
    assert complete(model) == "fine"
    return time.monotonic() - began


def test_a_rejected_request_does_not_count_against_the_provider(model, server):
    server.replies = [Reply(status=400)]
    for _ in range(6):
        with pytest.raises(errors.BadRequest):
            complete(model)
    assert not CircuitBreaker.objects.exists()


def test_an_interrupted_call_does_not_count_against_the_provider(model, server):
    server.replies = [Reply(chunks=[b"data: {}\n\n"], stall_at=0)]

    for _ in range(6):
        with pytest.raises(Interrupted):
            complete(model, run=Impatient(interrupted))
    server.replies = [DOWN, FINE]
    complete(model)
    assert not CircuitBreaker.objects.exists()


def test_a_rejected_key_opens_it_immediately_and_only_administrators_see_the_provider(
    model, server, caplog, django_capture_on_commit_callbacks
):
    server.replies = [Reply(status=401, chunks=[b"wrong key sk-a-key"])]
    with django_capture_on_commit_callbacks(execute=True), caplog.at_level(logging.ERROR):
        with pytest.raises(errors.AuthenticationFailed) as caught:
            complete(model)
    name = Provider.objects.get().name
    assert (state(), len(server.received)) == ("open", 1)
    assert name not in caught.value.sentence
    assert [record.message for record in caplog.records] == [
        f"provider {name}: breaker closed → open. It does not accept its key."
    ]


def test_the_sentence_stays_the_same_while_it_is_open_for_its_key(model, server):
    server.replies = [Reply(status=401)]
    for _ in range(2):
        with pytest.raises(errors.AuthenticationFailed):
            complete(model)
    assert len(server.received) == 1


def test_after_the_cooldown_one_call_probes_and_its_success_closes_it(opened, server):
    server.replies = [FINE]
    cooldown_is_over()
    assert complete(opened) == "fine"
    assert history() == [("closed", "open"), ("open", "half_open"), ("half_open", "closed")]
    assert complete(opened) == "fine"
    assert len(server.received) == 2


def test_a_clock_set_back_by_an_hour_does_not_keep_it_open(opened, server):
    server.replies = [FINE]
    hour = timedelta(hours=1)
    CircuitBreaker.objects.update(changed_at=F("changed_at") + hour, probe_at=F("probe_at") + hour)
    assert complete(opened) == "fine"
    assert state() == "closed"


def test_a_failed_probe_opens_it_for_another_cooldown(opened, server):
    cooldown_is_over()
    for _ in range(3):
        with pytest.raises(errors.ProviderUnavailable):
            complete(opened)
    assert len(server.received) == 1
    assert history()[1:] == [("open", "half_open"), ("half_open", "open")]


def test_a_probe_rejected_as_a_bad_request_closes_it(opened, server):
    server.replies = [Reply(status=400)]
    cooldown_is_over()
    with pytest.raises(errors.BadRequest):
        complete(opened)
    assert state() == "closed"


def test_failures_before_it_closed_do_not_count(opened, server):
    server.replies = [FINE, FINE, DOWN, FINE]
    cooldown_is_over()
    for _ in range(3):
        assert complete(opened) == "fine"
    assert state() == "closed"


def test_an_interrupted_probe_is_released(opened, server):
    cooldown_is_over()

    with pytest.raises(Interrupted):
        complete(opened, run=Impatient(interrupted))
    server.replies = [FINE]
    assert complete(opened) == "fine"
    assert state() == "closed"


def test_a_probe_of_a_missing_protocol_is_released(opened, server):
    cooldown_is_over()
    protocol = Provider.objects.get().protocol
    Provider.objects.update(protocol="gone")
    with pytest.raises(errors.ProtocolUnavailable):
        complete(opened)
    assert state() == "open"
    Provider.objects.update(protocol=protocol)
    server.replies = [FINE]
    assert complete(opened) == "fine"
    assert state() == "closed"


def test_the_probe_of_a_dead_worker_expires(opened, server):
    cooldown_is_over()
    dead = CircuitBreaker.objects.select_related("provider").get()
    assert changes.claim_probe(dead)
    with pytest.raises(errors.ProviderUnavailable):
        complete(opened)
    assert server.received == []
    server.replies = [FINE]
    cooldown_is_over()
    assert complete(opened) == "fine"
    assert not changes.open_breaker(dead, "Late news.")
    assert state() == "closed"


def test_a_probe_expires_after_the_timeout_of_an_attempt(opened):
    Provider.objects.update(total_timeout_s=500)
    cooldown_is_over()
    changes.claim_probe(CircuitBreaker.objects.select_related("provider").get())
    row = CircuitBreaker.objects.get()
    assert (row.probe_at - row.changed_at).total_seconds() == pytest.approx(500, abs=1)


def test_forced_open_it_stays_open_after_the_cooldown(model, server, alice):
    server.replies = [FINE]
    changes.force(Provider.objects.get(), BreakerState.OPEN, alice)
    cooldown_is_over()
    with pytest.raises(errors.ProviderUnavailable):
        complete(model)
    assert server.received == []


def test_forced_closed_it_allows_every_call(model, server, alice):
    server.replies = [DOWN]
    changes.force(Provider.objects.get(), BreakerState.CLOSED, alice)
    for _ in range(2):
        with pytest.raises(errors.ProviderUnavailable):
            complete(model)
    assert len(server.received) == 6
    assert state() == "closed"


def test_reset_makes_it_automatic_with_an_empty_window(opened, server, alice):
    changes.reset(Provider.objects.get(), alice)
    server.replies = [DOWN, FINE]
    assert complete(opened) == "fine"
    assert (state(), CircuitBreaker.objects.get().forced) == ("closed", False)


def test_every_action_is_in_the_history_with_its_administrator(model, alice):
    provider = Provider.objects.get()
    changes.force(provider, BreakerState.OPEN, alice)
    changes.force(provider, BreakerState.CLOSED, alice)
    changes.reset(provider, alice)
    assert list(BreakerChange.objects.order_by("pk").values_list("before", "after", "reason", "by")) == [
        ("closed", "open", "Forced open.", alice.pk),
        ("open", "closed", "Forced closed.", alice.pk),
        ("closed", "closed", "Reset.", alice.pk),
    ]


def test_an_action_during_a_call_wins(model, server, alice):
    server.replies = [Reply(status=401)]

    def meanwhile(wait):
        changes.force(Provider.objects.get(), BreakerState.CLOSED, alice)

    with pytest.raises(errors.AuthenticationFailed):
        complete(model, run=Impatient(meanwhile))
    assert (state(), CircuitBreaker.objects.get().forced) == ("closed", True)
