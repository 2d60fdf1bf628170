"""Failover between routes: their order, the number of attempts, and the error that sums up all failures."""

import pytest
from django.contrib.auth.models import Group

from llm_app import errors
from llm_app.breaker import changes
from llm_app.call import Action
from llm_app.models import BreakerState, LLMLog, Provider, Route
from tests.llm_app.conftest import Impatient, Watcher, complete, routed
from tests.provider import Reply, openai_text

pytestmark = pytest.mark.django_db
FINE = openai_text("fine")
BUSY, DOWN, LOCKED, UNKNOWN = Reply(status=429), Reply(status=500), Reply(status=401), Reply(status=404)
BROKE = Reply(status=400, chunks=[b'{"error": {"code": "Arrearage"}}'])
PAGE = Reply(chunks=[b"<html>Welcome!</html>"], content_type="text/html")
FOREIGN = Reply(chunks=[b'{"status": "ok"}'], content_type="application/json")
GARBLED = Reply(chunks=[b"data: {oops\n\n"])


def sent(servers) -> list[int]:
    return [len(server.received) for server in servers]


@pytest.fixture
def two(servers):
    """A model with two routes whose breakers never open."""
    return routed(servers[:2], min_calls=100)


@pytest.mark.parametrize(
    ("first", "calls"),
    [(BUSY, 1), (LOCKED, 1), (UNKNOWN, 1), (BROKE, 1), (DOWN, 3), (PAGE, 1), (FOREIGN, 1), (GARBLED, 1)],
)
def test_the_second_route_answers_if_the_first_fails(first, calls, two, servers):
    servers[0].replies, servers[1].replies = [first], [FINE]
    assert complete(two) == "fine"
    assert sent(servers) == [calls, 1, 0]


def test_a_rejected_request_is_not_sent_to_other_routes(two, servers):
    servers[0].replies = [Reply(status=400)]
    with pytest.raises(errors.BadRequest):
        complete(two)
    assert sent(servers) == [1, 0, 0]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (LOCKED, LOCKED, errors.AuthenticationFailed),
        (DOWN, LOCKED, errors.ProviderUnavailable),
        (LOCKED, DOWN, errors.ProviderUnavailable),
        (UNKNOWN, UNKNOWN, errors.ModelNotFound),
        (UNKNOWN, LOCKED, errors.ProviderUnavailable),
        (PAGE, FOREIGN, errors.UnreadableReply),
        (GARBLED, LOCKED, errors.ProviderUnavailable),
        (BROKE, BROKE, errors.NoCredit),
        (BROKE, LOCKED, errors.ProviderUnavailable),
        (PAGE, DOWN, errors.ProviderUnavailable),
        (DOWN, PAGE, errors.ProviderUnavailable),
    ],
)
def test_only_equal_failures_give_their_own_sentence(first, second, verdict, two, servers):
    servers[0].replies, servers[1].replies = [first], [second]
    with pytest.raises(errors.LLMError) as caught:
        complete(two)
    assert type(caught.value) is verdict


def test_different_failures_are_named_with_their_providers(two, servers):
    servers[0].replies, servers[1].replies = [BROKE], [LOCKED]
    with pytest.raises(errors.ProviderUnavailable) as caught:
        complete(two)
    first, second = Provider.objects.order_by("routes__priority").values_list("name", flat=True)
    assert f"{first}: The account at {first} has no credit left." in caught.value.sentence
    assert f"{second}: The model provider rejected its API key." in caught.value.sentence


def test_an_allowance_that_returns_soonest_is_named(two, servers):
    servers[0].replies = [Reply(status=429, headers={"Retry-After": "10800"})]
    servers[1].replies = [Reply(status=429, headers={"Retry-After": "7200"})]
    with pytest.raises(errors.AllowanceSpentUntil) as caught:
        complete(two)
    assert caught.value.provider == Provider.objects.get(routes__priority=2).name
    assert f"is used up until {caught.value.resets}" in caught.value.sentence
    assert sent(servers) == [1, 1, 0]


def test_overload_on_the_last_route_is_waited_out(two, servers):
    servers[0].replies, servers[1].replies, watcher = [DOWN], [BUSY, BUSY, FINE], Watcher()
    assert complete(two, watcher) == "fine"
    assert [(name, then) for name, then, _ in watcher.failures[3:]] == [("Overloaded", Action.RETRY)] * 2


def test_retry_after_reaches_the_schedule(servers):
    model, watcher = routed(servers[:1]), Watcher()
    servers[0].replies = [Reply(status=429, headers={"Retry-After": "7"}), FINE]
    complete(model, watcher)
    assert 7 <= watcher.failures[0][2] < 7 * 1.25


def test_a_route_with_an_open_breaker_is_skipped(two, servers, alice):
    changes.force(Provider.objects.get(routes__priority=2), BreakerState.OPEN, alice)
    servers[0].replies = [BUSY, BUSY, FINE]
    assert complete(two) == "fine"
    assert sent(servers) == [3, 0, 0]


def test_waiting_out_an_overload_sends_nothing_while_the_breaker_is_open(servers, alice):
    model = routed(servers[:1], min_calls=100)
    provider = Provider.objects.get()
    servers[0].replies, waits = [BUSY, FINE], []

    def meanwhile(wait):
        if wait == "sleep":
            waits.append(len(servers[0].received))
            changes.force(provider, BreakerState.OPEN if len(waits) < 3 else BreakerState.CLOSED, alice)

    watcher = Watcher()
    assert complete(model, watcher, run=Impatient(meanwhile)) == "fine"
    assert waits == [1, 1, 1]
    assert sent(servers) == [2, 0, 0]
    assert len(watcher.failures) == 1, "a person is told of an attempt once"


def test_a_provider_disabled_between_two_attempts_gets_no_more_calls(two, servers):
    servers[0].replies, servers[1].replies = [DOWN], [FINE]

    def meanwhile(wait):
        if wait == "sleep":
            Provider.objects.filter(routes__priority=1).update(enabled=False)

    assert complete(two, run=Impatient(meanwhile)) == "fine"
    assert sent(servers) == [1, 1, 0]


def test_every_attempt_is_logged_with_its_outcome(two, servers):
    servers[0].replies, servers[1].replies = [DOWN], [FINE]
    complete(two)
    logs = LLMLog.objects.order_by("created_at").values_list("attempt", "status", "error_type")
    failed = [(number, "failed", "ServerError") for number in (1, 2, 3)]
    assert list(logs) == [*failed, (1, "succeeded", "")]


def test_a_silent_stream_is_a_timeout(servers):
    model = routed(servers[:2], min_calls=100)
    Provider.objects.filter(routes__priority=1).update(timeout_s=0.1)
    half = openai_text("half")
    servers[0].replies, servers[1].replies = [Reply(chunks=half.chunks, stall_at=1)], [FINE]
    watcher = Watcher()
    assert complete(model, watcher) == "fine"
    assert {name for name, _, _ in watcher.failures} == {"ProviderTimeout"}


def test_an_endless_stream_times_out(servers):
    model = routed(servers[:2], min_calls=100)
    Provider.objects.filter(routes__priority=1).update(total_timeout_s=0.2)
    drip = [b": still here\n\n"] * 10_000
    servers[0].replies, servers[1].replies = [Reply(chunks=drip, stall_at=9_999)], [FINE]
    assert complete(model) == "fine"
    assert LLMLog.objects.filter(error_type="ProviderTimeout").count() == 3


def test_an_error_in_fragments_is_read_completely(servers):
    model = routed(servers[:1])
    servers[0].replies = [
        Reply(status=400, chunks=[b'{"error": {"code": "context_', b'length_exceeded"}}'], stall_at=1, stall_s=0.05)
    ]
    with pytest.raises(errors.ContextTooLong):
        complete(model)


def test_a_model_without_vision_routes_is_missing_a_route_and_not_forbidden(two, servers, alice):
    Route.objects.update(takes_images=False)
    with pytest.raises(errors.NoRoute):
        complete(two, needs_sight=True, user_id=alice.pk)
    two.roles.add(Group.objects.create(name="others"))
    with pytest.raises(errors.ModelNotAllowed):
        complete(two, user_id=alice.pk)
    assert sent(servers) == [0, 0, 0]


@pytest.mark.parametrize("address", ["http://[::1", "http://llm:abc/v1"])
def test_a_route_with_an_invalid_address_is_skipped(address, two, servers):
    Provider.objects.filter(routes__priority=1).update(base_url=address)
    servers[1].replies = [FINE]
    assert complete(two) == "fine"
    assert sent(servers) == [0, 1, 0]
