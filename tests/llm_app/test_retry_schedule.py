"""The decision after a failed attempt, row by row (the schedule of rules.md, Providers)."""

import pytest

from llm_app import errors
from llm_app.call import Action
from llm_app.call.retry import decide_retry

RETRY, NEXT, GIVE_UP, FAIL = Action.RETRY, Action.NEXT_ROUTE, Action.GIVE_UP, Action.FAIL
FAULTS = [
    errors.ConnectionFailed,
    errors.ProviderTimeout,
    errors.ServerError,
    errors.StreamCut,
]


def after(error: errors.LLMError, attempt: int, has_next: bool, jitter: float = 0.0) -> tuple[Action, float]:
    decision = decide_retry(error, attempt, has_next_route=has_next, jitter=lambda: jitter)
    return decision.action, decision.delay


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("has_next", "end"), [(True, NEXT), (False, GIVE_UP)])
def test_network_and_server_errors_are_tried_three_times_per_route(fault, has_next, end):
    steps = [after(fault(), attempt, has_next) for attempt in (1, 2, 3)]
    assert steps == [(RETRY, 0.5), (RETRY, 1.0), (end, 0.0)]


def test_overload_moves_to_the_next_route_immediately():
    assert after(errors.Overloaded(retry_after=1), 1, has_next=True) == (NEXT, 0.0)


def test_overload_on_the_last_route_is_tried_five_times():
    steps = [after(errors.Overloaded(), attempt, has_next=False) for attempt in (1, 2, 3, 4, 5)]
    assert steps == [(RETRY, 2.0), (RETRY, 4.0), (RETRY, 8.0), (RETRY, 16.0), (GIVE_UP, 0.0)]


@pytest.mark.parametrize(
    ("advised", "then", "waited"),
    [
        (0.5, RETRY, 0.5),
        (7.0, RETRY, 7.0),
        (60.0, RETRY, 60.0),
        (60.1, GIVE_UP, 0.0),
        (float("inf"), GIVE_UP, 0.0),
        (0.0, RETRY, 2.0),
    ],
)
def test_retry_after_is_respected_up_to_a_minute(advised, then, waited):
    assert after(errors.Overloaded(retry_after=advised), 1, has_next=False) == (then, waited)


@pytest.mark.parametrize(("jitter", "waited"), [(0.0, 8.0), (0.5, 9.0), (0.999, 9.998)])
def test_jitter_adds_up_to_a_quarter(jitter, waited):
    assert after(errors.Overloaded(retry_after=8), 1, has_next=False, jitter=jitter) == (RETRY, pytest.approx(waited))


@pytest.mark.parametrize(
    "error",
    [
        errors.AuthenticationFailed,
        errors.NoCredit,
        errors.AllowanceSpentUntil,
        errors.RegionUnsupported,
        errors.AccessDenied,
        errors.ToolsUnsupported,
        errors.ModelNotFound,
        errors.UnreadableReply,
        errors.CircuitOpen,
    ],
)
@pytest.mark.parametrize(("has_next", "then"), [(True, NEXT), (False, GIVE_UP)])
def test_permanent_errors_move_to_the_next_route(error, has_next, then):
    assert after(error(), 1, has_next) == (then, 0.0)


@pytest.mark.parametrize("error", [errors.BadRequest, errors.ContextTooLong])
@pytest.mark.parametrize("has_next", [True, False])
def test_a_rejected_request_ends_the_call(error, has_next):
    assert after(error(), 1, has_next) == (FAIL, 0.0)
