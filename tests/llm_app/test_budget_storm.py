"""Many callers at once overrun a limit by one call at most, and use it up."""

import pytest

from tests.llm_app import budget_storm
from tests.llm_app.budget_storm import CALLERS, LIMIT


@pytest.mark.django_db(transaction=True)
def test_two_hundred_at_once_overrun_a_limit_by_one_call_at_most():
    found = budget_storm.result()
    assert LIMIT <= found["spent"] < LIMIT + found["largest"]
    assert (found["refused"], found["reserved"]) == (CALLERS, 0)
