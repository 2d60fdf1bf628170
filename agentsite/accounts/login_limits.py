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

from agentsite.addresses import client_network

COUNTED_SECONDS = 3600  # after the first attempt that counts


@dataclass(frozen=True, kw_only=True)
class AttemptLimit:
    """A limit: `free` attempts per hour, then pauses of 1, 2, 4 … `longest_pause` seconds."""

    free: int
    longest_pause: int

    def pause(self, attempts: int) -> int:
        """Return the pause in seconds after so many attempts."""
        return 0 if attempts <= self.free else min(self.longest_pause, 2 ** min(attempts - self.free - 1, 10))


PAIR_LIMIT = AttemptLimit(free=5, longest_pause=10)  # at most 370 per hour
ADDRESS_LIMIT = AttemptLimit(free=100, longest_pause=2)  # at most 1,900 per hour, for any names
NAME_LIMIT = AttemptLimit(free=50, longest_pause=4)  # at most 960 per hour from all addresses together
CODE_LIMIT = AttemptLimit(free=5, longest_pause=60)  # second factor: at most 70 per hour of a million codes
UNCOUNTED_FOR_NAME = 3  # attempts from each address that do not count for the name: others cannot use them up


class TooManyAttempts(Exception):
    """Too many wrong passwords. The next attempt is checked after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many wrong passwords were tried. Try again in {seconds} s.")
        self.seconds = seconds


class SignInAttempt:
    """An attempt to sign in as `name` from `address`.

    Raises: TooManyAttempts.
    """

    def __init__(self, name: str, address: str) -> None:
        name, client = name.casefold(), client_network(address)
        self._pair = _AttemptCounter(PAIR_LIMIT, name, client)
        self._counted: list[_AttemptCounter] = []
        attempts = self._count(self._pair)
        self._count(_AttemptCounter(ADDRESS_LIMIT, client))
        if attempts > UNCOUNTED_FOR_NAME:
            self._count(_AttemptCounter(NAME_LIMIT, name))

    def succeeded(self) -> None:
        """Reset the limits after a correct password."""
        self._withdraw()
        self._pair.clear()

    def _count(self, counter: "_AttemptCounter") -> int:
        try:
            attempts = counter.count()
        except TooManyAttempts:
            self._withdraw()
            raise
        self._counted.append(counter)
        return attempts

    def _withdraw(self) -> None:
        for counter in self._counted:
            counter.withdraw()


class CodeAttempt:
    """An attempt at the second factor of a user, after a correct password.

    Raises: TooManyAttempts.
    """

    def __init__(self, user_id: int) -> None:
        self._counter = _AttemptCounter(CODE_LIMIT, str(user_id))
        self._counter.count()

    def succeeded(self) -> None:
        """Reset the limit after a correct code."""
        self._counter.clear()


class _AttemptCounter:
    """The number of attempts and the end of the pause, both in the cache, whose size is limited."""

    def __init__(self, limit: AttemptLimit, *subject: str) -> None:
        text = "\0".join((str(limit), *subject))
        self._limit, self._cache = limit, caches["tries"]
        self._key = hashlib.sha256(text.encode(errors="replace")).hexdigest()
        self._pause_key = f"{self._key}:gate"

    def count(self) -> int:
        """Count an attempt before the password is checked, so that concurrent ones are not all the first.

        Raises: TooManyAttempts during a pause.
        """
        self._cache.add(self._key, 0, COUNTED_SECONDS)
        attempts = self._change(1)
        pause = self._limit.pause(attempts)
        if pause and not self._cache.add(self._pause_key, math.ceil(time.time()) + pause, pause):
            self._change(-1)
            end = self._cache.get(self._pause_key)
            raise TooManyAttempts(max(1, min(pause, end - math.floor(time.time()))) if end else 1)
        return attempts

    def withdraw(self) -> None:
        """Uncount an attempt and end its pause."""
        self._change(-1)
        self._cache.delete(self._pause_key)

    def clear(self) -> None:
        self._cache.delete_many([self._key, self._pause_key])

    def _change(self, by: int) -> int:
        """Change the number of attempts and return it; 1 if the entry has just expired."""
        try:
            return int(self._cache.incr(self._key, by))
        except ValueError:
            return 1
