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


def test_after_twenty_wrong_passwords_the_right_one_is_taken_soon(clock):
    assert guess(20) == [200] * 6 + [429] * 14
    assert seconds_until_in("alice", clock) < 15


def test_so_it_is_when_the_guesses_waited_as_they_were_told(clock):
    for _ in range(20):
        while not is_looked_at("alice"):
            clock.shift(1)
    assert seconds_until_in("alice", clock) < 15


def test_others_at_the_same_address_are_let_in_at_once(clock):
    guess(20)
    assert seconds_until_in("bob", clock) == 0


def test_others_wait_a_few_seconds_at_an_address_that_tries_many_names(clock):
    for number in range(150):
        is_looked_at(f"name{number}")
    assert 0 < seconds_until_in("bob", clock) <= 5
    assert seconds_until_in("bob", clock, address="198.51.100.1") == 0


def test_an_owner_is_let_in_at_once_whatever_all_others_try(clock):
    for number in range(250):
        for _ in range(4):
            is_looked_at("alice", f"198.51.100.{number}")
    assert seconds_until_in("alice", clock) == 0


def test_the_answer_says_how_long_to_wait(clock):
    guess(6)
    answer = sign_in("alice", RIGHT).answer
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")
    assert "Too many wrong passwords were tried. Try again in 1 s." in answer.content.decode()


def test_an_hour_of_guessing_one_name_looks_at_a_few_hundred(clock):
    assert PAIR_LIMIT.free < in_an_hour(clock, lambda second: is_looked_at("alice")) <= 370


def test_an_hour_of_guessing_many_names_is_bounded_by_the_address(clock):
    assert ADDRESS_LIMIT.free < in_an_hour(clock, lambda second: is_looked_at(f"name{second}")) <= 1900


def test_an_hour_of_guessing_one_name_from_many_addresses_is_bounded_by_the_name(clock):
    looked_at = in_an_hour(clock, lambda second: is_looked_at("alice", f"198.51.100.{second % 100}"))
    assert NAME_LIMIT.free < looked_at <= 960 + 100 * UNCOUNTED_FOR_NAME


def in_an_hour(clock: time_machine.Traveller, attempt: Callable[[int], bool]) -> int:
    looked_at = 0
    for second in range(3600):
        looked_at += attempt(second)
        clock.shift(1)
    return looked_at


def test_many_at_once_are_not_all_the_first_one(clock):
    with ThreadPoolExecutor(30) as pool:
        assert sum(pool.map(is_looked_at, ["alice"] * 200)) <= PAIR_LIMIT.free + 1


def test_a_right_password_begins_anew(clock):
    guess(5)
    assert sign_in("alice", RIGHT).answer.status_code == 302
    assert guess(6) == [200] * 6


def test_the_neighbours_in_one_network_of_ipv6_count_as_one_address(clock):
    for number in range(20):
        guess(1, address=f"2001:db8::{number:x}")
    assert sign_in("alice", RIGHT, "2001:db8::ffff").answer.status_code == 429


def test_the_table_has_a_bound(monkeypatch):
    table = caches["tries"]
    monkeypatch.setattr(table, "_max_entries", 50)
    for number in range(200):
        is_looked_at(f"name{number}", f"2001:db8:{number:x}::1")
    assert len(table._cache) <= 50
