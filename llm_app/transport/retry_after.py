"""How long a provider wants to be left alone."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """`Retry-After`, in seconds or as a date; None where it is missing or makes no sense. Source: RFC 9110, 10.2.3."""
    value = headers.get("Retry-After", "").strip()
    if value.replace(".", "", 1).isdecimal() and value.isascii():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds())
