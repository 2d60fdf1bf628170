"""How often passwords may be tried: guessing becomes slow, and nobody is locked out by others.

Each try counts against a pair (a name from an address), against its address and against its name. The first ones are
free; then there is a pause between two, which grows up to a few seconds and no further. A try within a pause is refused
without a look at the password, and does not count. A right password clears its pair and gives back the rest.
"""

import hashlib
import math
import time
from dataclasses import dataclass

from django.core.cache import caches

from agentsite.addresses import network

FORGOTTEN_SECONDS = 3600  # after the first try that counts


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`free` tries in an hour, then pauses of 1, 2, 4 … `longest` seconds."""

    free: int
    longest: int

    def pause(self, tries: int) -> int:
        return 0 if tries <= self.free else min(self.longest, 2 ** min(tries - self.free - 1, 10))


PAIR = Rule(free=5, longest=10)  # at most 370 an hour
ADDRESS = Rule(free=100, longest=2)  # at most 1,900 an hour, whatever the names
NAME = Rule(free=50, longest=4)  # at most 960 an hour from all addresses together …
CODE = Rule(free=5, longest=60)  # of a second factor: at most 70 an hour of a million, whoever and from wherever
FIRST_OF_A_PAIR = 3  # … and these of each address beside them: others cannot use up what its owner has there


class TooManyTries(Exception):
    """Passwords were tried too often. `seconds`: until the next try is looked at."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many wrong passwords were tried. Try again in {seconds} s.")
        self.seconds = seconds


class Try:
    """One try of a password for `name`, from `address`. Raises TooManyTries."""

    def __init__(self, name: str, address: str) -> None:
        name, place = name.casefold(), network(address)
        self._pair = _Counter(PAIR, name, place)
        self._taken: list[_Counter] = []
        tries = self._take(self._pair)
        self._take(_Counter(ADDRESS, place))
        if tries > FIRST_OF_A_PAIR:
            self._take(_Counter(NAME, name))

    def succeeded(self) -> None:
        """The password was right."""
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
    """One try of a person's second factor: whoever comes as far has the password. Raises TooManyTries."""

    def __init__(self, user_id: int) -> None:
        self._counter = _Counter(CODE, str(user_id))
        self._counter.take()

    def succeeded(self) -> None:
        """The code was right."""
        self._counter.clear()


class _Counter:
    """A row of the table: how many tries, and until when none is looked at. In the cache, which has a bound."""

    def __init__(self, rule: Rule, *what: str) -> None:
        text = "\0".join((str(rule), *what))
        self._rule, self._cache = rule, caches["tries"]
        self._key = hashlib.sha256(text.encode(errors="replace")).hexdigest()
        self._gate = f"{self._key}:gate"

    def take(self) -> int:
        """Counts before the password is looked at, so that many at once are not all the first one."""
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
        """The number of tries after the change; 1 for a row that has just been forgotten."""
        try:
            return int(self._cache.incr(self._key, by))
        except ValueError:
            return 1

    def _left(self, pause: int) -> int:
        ends = self._cache.get(self._gate)
        return max(1, min(pause, ends - math.floor(time.time()))) if ends else 1
