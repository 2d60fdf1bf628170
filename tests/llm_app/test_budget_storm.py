"""Many concurrent callers exceed a limit by one call at most, and use it completely."""

import pytest

from tests.llm_app import budget_storm
from tests.llm_app.budget_storm import LIMIT


@pytest.mark.django_db(transaction=True)
def test_concurrent_calls_exceed_a_limit_by_one_call_at_most():
    found = budget_storm.result(60)
    assert LIMIT <= found["spent"] < LIMIT + found["largest"]
    assert (found["refused"], found["reserved"]) == (60, 0)
