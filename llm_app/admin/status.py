"""The status of providers as texts of the admin."""

from datetime import datetime

from django.utils import timezone
from django.utils.timesince import timesince

from llm_app.provider_status import ProviderStatus

OUTCOMES = {"answered": "success", "failed": "danger", "never called": "warning"}


def outcome(works: bool | None, at: datetime | None) -> tuple[str, str]:
    """Return the outcome, which decides the color, and the text of a list cell."""
    name = {True: "answered", False: "failed", None: "never called"}[works]
    return name, f"{name}, {_ago(at)}" if at else name


def sentence(status: ProviderStatus) -> str:
    return f"{status.sentence} ({_ago(status.at)})" if status.at else status.sentence


def _ago(time: datetime) -> str:
    has_passed = (timezone.now() - time).total_seconds() >= 60
    return f"{timesince(time, depth=1)} ago" if has_passed else "just now"
