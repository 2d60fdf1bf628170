"""Rules of the breaker as tables: when it opens and which calls may pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_app import errors
from llm_app.breaker.rules import CallPermission, Thresholds, is_fault, permission_for_call, reason_to_open
from llm_app.models import BreakerState

OK, BAD, REFUSED = "", "ServerError", "BadRequest"


@pytest.mark.parametrize(
    ("state", "forced", "is_due", "expected"),
    [
        (BreakerState.CLOSED, False, False, CallPermission.ALLOWED),
        (BreakerState.CLOSED, True, False, CallPermission.ALLOWED),
        (BreakerState.OPEN, False, False, CallPermission.BLOCKED),
        (BreakerState.OPEN, False, True, CallPermission.PROBE),
        (BreakerState.OPEN, True, True, CallPermission.BLOCKED),
        (BreakerState.HALF_OPEN, False, False, CallPermission.BLOCKED),
        (BreakerState.HALF_OPEN, False, True, CallPermission.PROBE),
    ],
)
def test_which_calls_may_pass(state, forced, is_due, expected):
    assert permission_for_call(state, forced=forced, is_due=is_due) is expected


@pytest.mark.parametrize(
    ("error", "counted"),
    [
        (errors.ConnectionFailed, True),
        (errors.ProviderTimeout, True),
        (errors.ServerError, True),
        (errors.Overloaded, True),
        (errors.StreamCut, True),
        (errors.UnreadableReply, True),
        (errors.AuthenticationFailed, True),
        (errors.BadRequest, False),
        (errors.ContextTooLong, False),
        (errors.ModelNotFound, False),
    ],
)
def test_which_errors_count_against_a_provider(error, counted):
    assert is_fault(error()) is counted


@pytest.mark.parametrize(
    ("outcomes", "opens"),
    [
        ([BAD] * 4, False),  # too few calls
        ([BAD] * 5, True),
        ([BAD, BAD, BAD, OK, OK, OK], True),  # exactly the ratio
        ([BAD, BAD, OK, OK, OK], False),
        ([BAD, BAD, REFUSED, REFUSED, REFUSED], False),  # a rejected request is an answer
        ([], False),
    ],
)
def test_breaker_opens_at_the_ratio_of_enough_calls(outcomes, opens):
    assert bool(reason_to_open(errors.ServerError(), outcomes, Thresholds())) is opens


def test_a_rejected_key_opens_it_immediately():
    assert reason_to_open(errors.AuthenticationFailed(), [], Thresholds())


def test_the_reason_counts_and_never_quotes_the_provider():
    reason = reason_to_open(errors.ServerError("sk-secret in the body"), [BAD] * 5, Thresholds())
    assert reason == "5 of its last 5 calls failed. The newest: The model provider reported an internal error."


def test_a_providers_thresholds_override_the_defaults():
    assert Thresholds.from_json({}) == Thresholds(window=20, failure_ratio=0.5, min_calls=5, cooldown_s=30)
    assert Thresholds.from_json({"cooldown_s": 5}).cooldown_s == 5


@given(st.lists(st.sampled_from([OK, BAD, REFUSED])), st.integers(1, 20), st.floats(0.01, 1))
def test_one_more_success_never_opens_a_closed_breaker(outcomes, min_calls, ratio):
    thresholds = Thresholds(min_calls=min_calls, failure_ratio=ratio)
    if len(outcomes) >= min_calls and not reason_to_open(errors.ServerError(), outcomes, thresholds):
        assert not reason_to_open(errors.ServerError(), [OK, *outcomes], thresholds)
