"""Limits on guessing passwords, by which users cannot lock each other out."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.core.cache import caches
from django.test import Client

from agentsite.accounts.login_limits import (
    ADDRESS_LIMIT,
    NAME_LIMIT,
    PAIR_LIMIT,
    UNCOUNTED_FOR_NAME,
    SignInAttempt,
    TooManyAttempts,
)
from tests import factories

RIGHT = "a password"  # that of the factory


@pytest.fixture(autouse=True)
def _nothing_tried(db: None) -> None:
    caches["tries"].clear()
    factories.UserFactory(username="alice")
    factories.UserFactory(username="bob")


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel("2026-11-22T12:00:00Z", tick=False) as traveller:
        yield traveller


def sign_in(name: str, password: str, address: str = "203.0.113.7") -> Client:
    client = Client(REMOTE_ADDR=address)
    client.answer = client.post("/accounts/login/", {"login": name, "password": password})
    return client


def seconds_until_in(name: str, clock: time_machine.Traveller, address: str = "203.0.113.7") -> int:
    """Return the seconds until a correct password is accepted, with retries after the announced pauses."""
    waited = 0
    while (answer := sign_in(name, RIGHT, address).answer).status_code == 429:
        waited += (pause := int(answer["Retry-After"]))
        clock.shift(pause)
    assert answer.status_code == 302
    return waited


def is_looked_at(name: str, address: str = "203.0.113.7") -> bool:
    """Return whether the password of an attempt is checked."""
    try:
        SignInAttempt(name, address)
    except TooManyAttempts:
        return False
    return True


def guess(times: int, name: str = "alice", address: str = "203.0.113.7") -> list[int]:
    return [sign_in(name, f"wrong {number}", address).answer.status_code for number in range(times)]


def test_correct_password_works_soon_after_twenty_wrong_ones(clock):
    assert guess(20) == [200] * 6 + [429] * 14
    assert seconds_until_in("alice", clock) < 15


def test_correct_password_works_soon_after_guesses_with_pauses(clock):
    for _ in range(20):
        while not is_looked_at("alice"):
            clock.shift(1)
    assert seconds_until_in("alice", clock) < 15


def test_other_users_of_an_address_sign_in_immediately(clock):
    guess(20)
    assert seconds_until_in("bob", clock) == 0


def test_address_with_many_guesses_delays_others_by_seconds(clock):
    for number in range(150):
        is_looked_at(f"name{number}")
    assert 0 < seconds_until_in("bob", clock) <= 5
    assert seconds_until_in("bob", clock, address="198.51.100.1") == 0


def test_owner_signs_in_immediately_despite_guesses_of_others(clock):
    for number in range(250):
        for _ in range(4):
            is_looked_at("alice", f"198.51.100.{number}")
    assert seconds_until_in("alice", clock) == 0


def test_response_has_the_seconds_to_wait(clock):
    guess(6)
    answer = sign_in("alice", RIGHT).answer
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")
    assert "Too many wrong passwords were tried. Try again in 1 s." in answer.content.decode()


def test_guesses_of_one_name_per_hour_are_limited(clock):
    assert PAIR_LIMIT.free < in_an_hour(clock, lambda second: is_looked_at("alice")) <= 370


def test_guesses_of_many_names_per_hour_are_limited_by_address(clock):
    assert ADDRESS_LIMIT.free < in_an_hour(clock, lambda second: is_looked_at(f"name{second}")) <= 1900


def test_guesses_from_many_addresses_per_hour_are_limited_by_name(clock):
    looked_at = in_an_hour(clock, lambda second: is_looked_at("alice", f"198.51.100.{second % 100}"))
    assert NAME_LIMIT.free < looked_at <= 960 + 100 * UNCOUNTED_FOR_NAME


def in_an_hour(clock: time_machine.Traveller, attempt: Callable[[int], bool]) -> int:
    looked_at = 0
    for second in range(3600):
        looked_at += attempt(second)
        clock.shift(1)
    return looked_at


def test_concurrent_guesses_are_all_counted(clock):
    with ThreadPoolExecutor(30) as pool:
        assert sum(pool.map(is_looked_at, ["alice"] * 200)) <= PAIR_LIMIT.free + 1


def test_correct_password_resets_the_limit(clock):
    guess(5)
    assert sign_in("alice", RIGHT).answer.status_code == 302
    assert guess(6) == [200] * 6


def test_ipv6_network_counts_as_one_address(clock):
    for number in range(20):
        guess(1, address=f"2001:db8::{number:x}")
    assert sign_in("alice", RIGHT, "2001:db8::ffff").answer.status_code == 429


def test_cache_of_attempts_is_limited(monkeypatch):
    table = caches["tries"]
    monkeypatch.setattr(table, "_max_entries", 50)
    for number in range(200):
        is_looked_at(f"name{number}", f"2001:db8:{number:x}::1")
    assert len(table._cache) <= 50
