"""Retry-After in both of its forms, and in invalid forms."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_app.transport.error_body import retry_after_seconds
from llm_app.transport.http_errors import error_for

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("20", 20.0),
        (" 1.5 ", 1.5),
        ("Sun, 22 Nov 2026 12:00:30 GMT", 30.0),
        ("Sunday, 22-Nov-26 12:01:00 GMT", 60.0),
        ("Sun, 22 Nov 2026 14:00:10 +0200", 10.0),
        ("Sun, 22 Nov 2026 12:00:05", 5.0),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("-5", None),
        ("soon", None),
        ("1.2.3", None),
        ("²", None),
        ("nan", None),
        ("99 Foo 99999 99:99:99", None),
    ],
)
def test_seconds_and_dates_are_read(value, seconds):
    assert retry_after_seconds({"Retry-After": value}, now=NOW) == seconds


def test_a_missing_header_gives_no_delay():
    assert retry_after_seconds({}) is None


@given(st.text())
def test_no_text_raises(value):
    found = retry_after_seconds({"Retry-After": value}, now=NOW)
    assert found is None or found >= 0


def test_other_forms_of_some_providers_are_read():
    assert retry_after_seconds({"retry-after-ms": "1500", "Retry-After": "2"}) == 1.5
    body = '{"error": {"code": 429, "details": [{"@type": "…RetryInfo", "retryDelay": "34.07s"}]}}'
    assert error_for(429, body).retry_after == 34.07
    assert error_for(429, body, {"Retry-After": "7"}).retry_after == 7
