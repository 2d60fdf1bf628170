"""The decision after a failed attempt, as a pure function without clock or database."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from llm_app.errors import (
    LONGEST_RETRY_AFTER,
    AccessDenied,
    AllowanceSpent,
    AuthenticationFailed,
    BadRequest,
    CircuitOpen,
    ContentRefused,
    LLMError,
    ModelNotFound,
    NoCredit,
    Overloaded,
    ProtocolUnavailable,
    RegionUnsupported,
    SealedPartRefused,
    ToolsUnsupported,
    UnreadableReply,
)

ATTEMPTS = 3  # per route, for network and server errors
ATTEMPTS_OVERLOADED = 5  # on the last route
_ONLY_ANOTHER_ROUTE_HELPS = (
    AccessDenied,
    AllowanceSpent,
    AuthenticationFailed,
    CircuitOpen,
    ModelNotFound,
    NoCredit,
    ProtocolUnavailable,
    RegionUnsupported,
    ToolsUnsupported,
    UnreadableReply,
)


class Action(Enum):
    RETRY = "retry"
    NEXT_ROUTE = "next route"
    GIVE_UP = "give up"  # this was the last route
    FAIL = "fail"  # every route would fail


@dataclass(frozen=True)
class RetryDecision:
    action: Action
    delay: float = 0.0  # seconds before a retry


def decide_retry(
    error: LLMError, attempt: int, *, has_next_route: bool, jitter: Callable[[], float] = random.random
) -> RetryDecision:
    """Decide how to continue after `attempt` failed attempts (1 or more) on a route, the last one with `error`.

    Delays are 0.5 and 1 s after network and server errors, and 2 to 16 s or Retry-After after overload. A longer
    Retry-After than a minute ends the attempts on the route. Jitter (in [0, 1)) adds up to a quarter. Rejected requests
    are never retried, including ContextTooLong: only the caller can shorten the prompt.
    """
    onward = RetryDecision(Action.NEXT_ROUTE if has_next_route else Action.GIVE_UP)
    if isinstance(error, ContentRefused | SealedPartRefused) and has_next_route:
        return onward  # another provider may have another filter, and another account gets nothing sealed
    if isinstance(error, BadRequest):
        return RetryDecision(Action.FAIL)
    if isinstance(error, _ONLY_ANOTHER_ROUTE_HELPS):
        return onward
    if isinstance(error, Overloaded):
        delay = error.retry_after or min(2.0**attempt, 32.0)
        if has_next_route or attempt >= ATTEMPTS_OVERLOADED or delay > LONGEST_RETRY_AFTER:
            return onward
        return _wait(delay, jitter)
    return _wait(0.5 * 2 ** (attempt - 1), jitter) if attempt < ATTEMPTS else onward


def _wait(delay: float, jitter: Callable[[], float]) -> RetryDecision:
    return RetryDecision(Action.RETRY, delay * (1 + jitter() / 4))
