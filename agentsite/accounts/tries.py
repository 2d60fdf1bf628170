"""Limits on sign-in attempts: guessing is slow, and users cannot lock each other out.

An attempt counts for its pair (a name from an address), for its address and for its name. The first attempts are
free. Then there is a pause after each, which grows to a few seconds. An attempt during a pause is refused without
checking the password, and does not count. A correct password resets the pair and is not counted for the others.
"""

import hashlib
import math
import time
from dataclasses import dataclass

from django.core.cache import caches

from agentsite.addresses import network

FORGOTTEN_SECONDS = 3600  # after the first attempt that counts


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A limit: `free` attempts per hour, then pauses of 1, 2, 4 … `longest` seconds."""

    free: int
    longest: int

    def pause(self, tries: int) -> int:
        return 0 if tries <= self.free else min(self.longest, 2 ** min(tries - self.free - 1, 10))


PAIR = Rule(free=5, longest=10)  # at most 370 per hour
ADDRESS = Rule(free=100, longest=2)  # at most 1,900 per hour, for any names
NAME = Rule(free=50, longest=4)  # at most 960 per hour from all addresses together
CODE = Rule(free=5, longest=60)  # second factor: at most 70 per hour from all addresses, of a million codes
FIRST_OF_A_PAIR = 3  # attempts from each address that do not count for the name: others cannot use them up


class TooManyTries(Exception):
    """Too many wrong passwords. The next attempt is checked after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many wrong passwords were tried. Try again in {seconds} s.")
        self.seconds = seconds


class Try:
    """An attempt to sign in as `name` from `address`.

    Raises: TooManyTries.
    """

    def __init__(self, name: str, address: str) -> None:
        name, place = name.casefold(), network(address)
        self._pair = _Counter(PAIR, name, place)
        self._taken: list[_Counter] = []
        tries = self._take(self._pair)
        self._take(_Counter(ADDRESS, place))
        if tries > FIRST_OF_A_PAIR:
            self._take(_Counter(NAME, name))

    def succeeded(self) -> None:
        """Reset the limits after a correct password."""
        self._give_back()
        self._pair.clear()

    def _take(self, counter: "_Counter") -> int:
        try:
            tries = counter.take()
        except TooManyTries:
            self._give_back()
            raise
        self._taken.append(counter)
        return tries

    def _give_back(self) -> None:
        for counter in self._taken:
            counter.give_back()


class CodeTry:
    """An attempt at the second factor of a user, after a correct password.

    Raises: TooManyTries.
    """

    def __init__(self, user_id: int) -> None:
        self._counter = _Counter(CODE, str(user_id))
        self._counter.take()

    def succeeded(self) -> None:
        """Reset the limit after a correct code."""
        self._counter.clear()


class _Counter:
    """The number of attempts and the end of the pause, both in the cache, whose size is limited."""

    def __init__(self, rule: Rule, *what: str) -> None:
        text = "\0".join((str(rule), *what))
        self._rule, self._cache = rule, caches["tries"]
        self._key = hashlib.sha256(text.encode(errors="replace")).hexdigest()
        self._gate = f"{self._key}:gate"

    def take(self) -> int:
        """Count an attempt before the password is checked, so that concurrent ones are not all the first.

        Raises: TooManyTries during a pause.
        """
        self._cache.add(self._key, 0, FORGOTTEN_SECONDS)
        tries = self._changed(1)
        pause = self._rule.pause(tries)
        if pause and not self._cache.add(self._gate, math.ceil(time.time()) + pause, pause):
            self._changed(-1)
            raise TooManyTries(self._left(pause))
        return tries

    def give_back(self) -> None:
        self._changed(-1)
        self._cache.delete(self._gate)

    def clear(self) -> None:
        self._cache.delete_many([self._key, self._gate])

    def _changed(self, by: int) -> int:
        """Change the number of attempts and return it; 1 if the entry has just expired."""
        try:
            return int(self._cache.incr(self._key, by))
        except ValueError:
            return 1

    def _left(self, pause: int) -> int:
        ends = self._cache.get(self._gate)
        return max(1, min(pause, ends - math.floor(time.time()))) if ends else 1
