"""The status of providers: the outcome of the newest call or test."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from llm_app import errors
from llm_app.breaker.changes import breaker_of, reset_unless_forced
from llm_app.connection_test import answer_time, explanation, fault_of_account
from llm_app.models import BreakerState, LLMCallStatus, LLMLog, Provider, Route
from llm_app.types import Purpose

_NO_EVIDENCE = [  # errors that are no evidence about the provider: caused by the request, or before it was sent
    "ContextTooLong",
    "ContentRefused",
    "SealedPartRefused",
    "ProtocolUnavailable",
]


@dataclass(frozen=True, kw_only=True)
class ProviderStatus:
    """A provider's status. `works` is None if it was never called. `needs_key`: another key might help."""

    works: bool | None
    sentence: str
    at: datetime | None = None
    needs_key: bool = False


def status_of(route: Route) -> ProviderStatus:
    """Return the status of one model at its provider. An open breaker is evidence about all its models."""
    breaker = breaker_of(route.provider)
    if breaker.state == BreakerState.OPEN and breaker.forced:
        sentence = "An administrator has paused all calls to it."
        return ProviderStatus(works=False, sentence=sentence, at=breaker.changed_at)
    if breaker.state == BreakerState.OPEN:
        return status_of_provider(route.provider)
    tested = route if route.tested_at else None
    return _newest(route.provider, tested, provider_model=route.provider_model)


def status_of_provider(provider: Provider) -> ProviderStatus:
    """Return the status by the newest evidence of any model at the provider."""
    tested = provider.routes.exclude(tested_at=None).select_related("model").order_by("-tested_at").first()
    return _newest(provider, tested)


def settings_changed(provider: Provider, by: Any = None) -> None:
    """Close the provider's breaker and reset its test results, until it is called again."""
    reset_unless_forced(provider, by)
    sentence = "Its settings were changed, and it was not called since."
    provider.routes.update(works=None, verdict=sentence, tested_at=timezone.now())


def with_outcomes(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    """Annotate routes or providers with the columns that `listed_outcome` reads, so that a list costs one query."""
    if rows.model is Route:
        calls = _calls().filter(provider=OuterRef("provider__name"), provider_model=OuterRef("provider_model"))
        tests = Route.objects.filter(pk=OuterRef("pk"))
    else:
        calls = _calls().filter(provider=OuterRef("name"))
        tests = Route.objects.filter(provider=OuterRef("pk")).exclude(tested_at=None).order_by("-tested_at")
    annotated: QuerySet[Any] = rows.annotate(
        call_status=Subquery(calls.values("status")[:1]),
        call_at=Subquery(calls.values("created_at")[:1]),
        test_works=Subquery(tests.values("works")[:1]),
        test_at=Subquery(tests.values("tested_at")[:1]),
    )
    return annotated


def listed_outcome(row: Any) -> tuple[bool | None, datetime | None]:
    """Return `works` and `at` of the status of an annotated row."""
    if row.call_at and not (row.test_at and row.test_at > row.call_at):
        return row.call_status == LLMCallStatus.SUCCEEDED, row.call_at
    return (row.test_works, row.test_at) if row.test_at else (None, None)


def _newest(provider: Provider, tested: Route | None, **conditions: Any) -> ProviderStatus:
    """Return the status after the newest call, or after the test if no call came later."""
    calls = _calls().filter(provider=provider.name, **conditions)
    if tested is not None:
        calls = calls.filter(created_at__gte=tested.tested_at)
    fields = ("status", "error_type", "error", "duration_ms", "provider_model", "created_at")
    if log := calls.only(*fields).first():
        return _status_after_call(provider, log)
    if tested is None:
        return ProviderStatus(works=None, sentence="It was not called yet.")
    needs_key = tested.works is False  # entering a key tests the provider again, whatever was wrong
    return ProviderStatus(works=tested.works, sentence=tested.verdict, at=tested.tested_at, needs_key=needs_key)


def _calls() -> "QuerySet[LLMLog]":
    """Return the calls that are evidence about their provider, newest first. Results of tests are stored in routes."""
    ended = LLMLog.objects.filter(status__in=[LLMCallStatus.SUCCEEDED, LLMCallStatus.FAILED])
    calls = ended.exclude(purpose=Purpose.TEST).exclude(error_type__in=_NO_EVIDENCE)
    return calls.order_by("-created_at")


def _status_after_call(provider: Provider, log: LLMLog) -> ProviderStatus:
    if log.status == LLMCallStatus.SUCCEEDED:
        sentence = f"Its last call was answered in {answer_time(log.duration_ms)}."
        return ProviderStatus(works=True, sentence=sentence, at=log.created_at)
    kind = getattr(errors, log.error_type, errors.LLMError) if log.error_type in errors.NAMES else errors.LLMError
    status = re.match(r"HTTP (\d{3})", log.error)
    error = kind(log.error, status=int(status[1]) if status else 0)
    route = provider.routes.filter(provider_model=log.provider_model).select_related("model").first()
    try:
        needs_key = bool(fault_of_account(error, has_key=bool(provider.api_key)))
        sentence = f"Its last call failed. {explanation(error, provider, route)}"
    except ImproperlyConfigured as fault:  # its key cannot be decrypted
        needs_key, sentence = True, str(fault)
    return ProviderStatus(works=False, sentence=sentence, at=log.created_at, needs_key=needs_key)
