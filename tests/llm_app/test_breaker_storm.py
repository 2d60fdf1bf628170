"""Many concurrent calls send at most one probe per cooldown, and the next provider answers all of them."""

import pytest

from tests.llm_app import storm


@pytest.mark.django_db(transaction=True)
def test_a_storm_of_calls_sends_one_probe_per_cooldown():
    assert storm.rounds(40) == [(0, 40), (1, 40), (0, 40), (1, 40)]
