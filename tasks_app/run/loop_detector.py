"""The detection of agents that repeat themselves.

Pure: it knows calls, results and changes by their hashes and numbers.
"""

import hashlib
import json
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


def fingerprint(name: str, arguments: Any) -> str:
    """Return the hash of a call's name and arguments in canonical form."""
    return hashlib.sha256(_canonical([name, arguments]).encode(errors="surrogatepass")).hexdigest()


def uncounted(exact: str) -> str:
    """Return the fingerprint of a call that is allowed to repeat: approvals are bound to it, and it makes no loop."""
    return f"{UNCOUNTED}{exact[:-1]}"


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode
LONGEST_CYCLE = 4  # calls
CYCLE_REPEATS = 4
UNCOUNTED = "-"  # a character that begins no hash


class CountedCall(NamedTuple):
    """A call in the window. `refused`: it was not run because it was a repetition."""

    fingerprint: str
    call_id: str
    refused: bool = False


@dataclass(frozen=True, kw_only=True)
class EarlierRun:
    """An earlier run of a call.

    `seq` numbers the call's entry; `comparable` is its `result` in a comparable form.
    """

    seq: int
    call_id: str
    result: str
    comparable: Hashable


class LoopDetector:
    """The newest `window` calls of a task since a person last wrote.

    A call that ran `threshold` times among them, with the same result and an unchanged workspace, is refused. After
    `refusals` such calls the task ends, unless another call has succeeded between them. A sequence of 2 to 4 calls that
    has just run for the fourth time is a cycle, which refuses nothing.
    """

    def __init__(self, *, window: int, threshold: int, refusals: int) -> None:
        self._threshold, self._refusals = threshold, refusals
        self._calls: deque[CountedCall] = deque(maxlen=window)
        self._refused_in_a_row = 0

    def load(self, calls: Iterable[tuple[CountedCall, bool]]) -> None:
        """Add calls from the record, oldest first, each with whether it has succeeded."""
        for call, has_succeeded in calls:
            if not call.fingerprint.startswith(UNCOUNTED):
                self.note(call)
            if has_succeeded:
                self.note_success()

    def earlier(self, fingerprint: str) -> list[str]:
        """Return the ids of this call's earlier runs, oldest first, or none while they are too few for a refusal."""
        ids = [call.call_id for call in self._calls if call.fingerprint == fingerprint and not call.refused]
        return ids if len(ids) >= self._threshold else []

    def is_repetition(self, runs: Sequence[EarlierRun], changed: int) -> bool:
        """Return whether enough of the newest runs had the same outcome since files last changed.

        `changed` is the number of the newest entry at that change. A run that changes files counts as progress.
        """
        alike = 0
        for run in reversed(runs):
            if run.comparable != runs[-1].comparable or run.seq <= changed:
                break
            alike += 1
        return alike >= self._threshold

    def cycle(self) -> list[CountedCall]:
        """Return all calls of a cycle that the newest call has just completed, or none."""
        calls = [call.fingerprint for call in self._calls]
        if not calls or calls.count(calls[-1]) < CYCLE_REPEATS or any(call.refused for call in self._calls):
            return []
        lengths = range(1, LONGEST_CYCLE + 1)
        shortest = next((n for n in lengths if _turned(calls, n) >= CYCLE_REPEATS * n), 0)
        is_complete = shortest > 1 and _turned(calls, shortest) == CYCLE_REPEATS * shortest
        return list(self._calls)[-CYCLE_REPEATS * shortest :] if is_complete else []

    def note(self, call: CountedCall) -> None:
        self._calls.append(call)
        self._refused_in_a_row += call.refused

    def note_success(self) -> None:
        """Forget the refusals: the agent has found another way."""
        self._refused_in_a_row = 0

    def is_hopeless(self) -> bool:
        """Return whether there are enough refusals to end the task."""
        return self._refused_in_a_row >= self._refusals

    def forget(self) -> None:
        """Empty the window, because a person wrote: a repetition may now make sense."""
        self._calls.clear()
        self._refused_in_a_row = 0


def _turned(calls: Sequence[str], length: int) -> int:
    """Return how many of the newest calls are one sequence of `length` over and over."""
    count = min(length, len(calls))
    while count < len(calls) and calls[-count - 1] == calls[-count - 1 + length]:
        count += 1
    return count
