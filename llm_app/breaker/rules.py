"""When calls to a provider are paused and which call may probe it: pure rules, without a clock and a database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from llm_app import errors
from llm_app.models import BreakerState

# What counts against a provider. A refused request (400) does not: it was answered.
_FAULTS = (
    errors.ConnectionFailed,
    errors.ProviderTimeout,
    errors.ServerError,
    errors.StreamCut,
    errors.UnreadableReply,
    errors.Overloaded,
)
_FAULT_NAMES = frozenset(fault.__name__ for fault in _FAULTS)
MOST_CALLS = 10_000
LONGEST_S = 30 * 86_400  # of a cooldown or a timeout: what is added to the time must lead to a date


class Entrance(Enum):
    FREE = "free"
    PROBE = "probe"  # for exactly one call
    SHUT = "shut"


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """A breaker opens if, of the newest `window` calls (`min_calls` or more), the share `failure_ratio` failed."""

    window: int = 20
    failure_ratio: float = 0.5
    min_calls: int = 5
    cooldown_s: float = 30.0

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Thresholds":
        """What a provider sets, and the defaults. Raises TypeError for an unknown name."""
        return cls(**values)

    def check(self) -> None:
        """Raises ValueError or TypeError for what makes no sense."""
        counts = (self.window, self.min_calls)
        if not all(isinstance(count, int) and 1 <= count <= MOST_CALLS for count in counts):
            raise ValueError("not a count")
        if not 0 < self.failure_ratio <= 1 or not 0 < self.cooldown_s <= LONGEST_S:
            raise ValueError("out of range")


def entrance(state: str, *, forced: bool, is_due: bool) -> Entrance:
    """`is_due`: the cooldown is over, or the worker that probes is presumed dead."""
    if state == BreakerState.CLOSED:
        return Entrance.FREE
    return Entrance.PROBE if is_due and not forced else Entrance.SHUT


def is_fault(error: errors.LLMError) -> bool:
    """Whether an error is evidence against its provider."""
    return isinstance(error, (*_FAULTS, errors.AuthenticationFailed))


def why_it_opens(error: errors.LLMError, outcomes: Sequence[str], thresholds: Thresholds) -> str:
    """Why a closed breaker opens after `error`, in words; empty if it stays closed.

    `outcomes` are the newest calls, this one included: the names of their errors, empty for a success.
    """
    if isinstance(error, errors.AuthenticationFailed):
        return "It does not accept its key."
    failed = sum(outcome in _FAULT_NAMES for outcome in outcomes)
    if len(outcomes) < thresholds.min_calls or failed < thresholds.failure_ratio * len(outcomes):
        return ""
    return f"{failed} of its last {len(outcomes)} calls failed. The newest: {error.sentence}"
