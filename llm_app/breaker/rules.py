"""Rules of the breaker: when calls are paused and which call may probe. Pure functions without clock or database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from llm_app import errors
from llm_app.models import BreakerState

# Errors that count against a provider. A rejected request (400) does not: the provider answered.
_FAULTS = (
    errors.ConnectionFailed,
    errors.ProviderTimeout,
    errors.ServerError,
    errors.StreamCut,
    errors.UnreadableReply,
    errors.Overloaded,
    errors.OverloadedUntil,
)
_FAULT_NAMES = frozenset(fault.__name__ for fault in _FAULTS)
MAX_CALLS = 10_000
MAX_SECONDS = 30 * 86_400  # seconds of a cooldown or a timeout; now plus this must be a valid date


class CallPermission(Enum):
    ALLOWED = "free"
    PROBE = "probe"  # one call may pass
    BLOCKED = "shut"


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The settings of a breaker.

    It opens if `failure_ratio` of the newest `window` calls (`min_calls` or more) failed.
    """

    window: int = 20
    failure_ratio: float = 0.5
    min_calls: int = 5
    cooldown_s: float = 30.0

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Thresholds":
        """Return a provider's settings, completed by defaults.

        Raises: TypeError for an unknown name.
        """
        return cls(**values)

    def check(self) -> None:
        """Check the ranges.

        Raises: ValueError or TypeError.
        """
        counts = (self.window, self.min_calls)
        if not all(isinstance(count, int) and 1 <= count <= MAX_CALLS for count in counts):
            raise ValueError("not a count")
        if not 0 < self.failure_ratio <= 1 or not 0 < self.cooldown_s <= MAX_SECONDS:
            raise ValueError("out of range")


def permission_for_call(state: str, *, forced: bool, is_due: bool) -> CallPermission:
    """Return how a call may pass. `is_due`: the cooldown has ended, or the probing worker is presumed dead."""
    if state == BreakerState.CLOSED:
        return CallPermission.ALLOWED
    return CallPermission.PROBE if is_due and not forced else CallPermission.BLOCKED


def is_fault(error: errors.LLMError) -> bool:
    """Return whether an error counts against its provider."""
    return isinstance(error, (*_FAULTS, errors.AuthenticationFailed))


def reason_to_open(error: errors.LLMError, outcomes: Sequence[str], thresholds: Thresholds) -> str:
    """Return the reason why a closed breaker opens after `error`; empty if it stays closed.

    `outcomes` are the error names of the newest calls including this one, empty for successes.
    """
    if isinstance(error, errors.AuthenticationFailed):
        return "It does not accept its key."
    failed = sum(outcome in _FAULT_NAMES for outcome in outcomes)
    if len(outcomes) < thresholds.min_calls or failed < thresholds.failure_ratio * len(outcomes):
        return ""
    return f"{failed} of its last {len(outcomes)} calls failed. The newest: {error.sentence}"
