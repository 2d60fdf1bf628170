"""The request of an LLM call in the form that people and programs see."""

from dataclasses import dataclass

from django.db.models import QuerySet

from llm_app import active_secrets
from llm_app.models import LLMLog
from tasks_app.models import Session
from tasks_app.models.errors import Refusal
from tasks_app.record import redactor_of
from tasks_app.replay.requests import NotRebuilt, SessionRequests, is_as_sent


class RequestGone(Refusal):
    """This request can no longer be rebuilt from the record. An administrator can check it with manage.py replay."""


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """The bytes of a request. If newer secrets were redacted, `is_redacted` is set; otherwise they are exact."""

    body: bytes
    is_redacted: bool


def sent_request(log: LLMLog) -> SentRequest:
    """Rebuild the request of a call. Raises RequestGone."""
    try:
        body = SessionRequests.for_one(log).body(log)
    except NotRebuilt as error:
        raise RequestGone() from error
    if not is_as_sent(log, body):
        raise RequestGone()
    session = Session.objects.filter(pk__in=[log.session_id]).first()
    redactor = redactor_of(session) if session else active_secrets.for_everyone().redactor
    text = body.decode()
    redacted = redactor.redacted(text)
    return SentRequest(body=redacted.encode(), is_redacted=redacted != text)


def before(log: LLMLog) -> LLMLog | None:
    """Return the preceding call of the session with the same purpose."""
    return _same_purpose(log).filter(created_at__lt=log.created_at).order_by("-created_at").first()


def after(log: LLMLog) -> LLMLog | None:
    """Return the following call of the session with the same purpose."""
    return _same_purpose(log).filter(created_at__gt=log.created_at).order_by("created_at").first()


def _same_purpose(log: LLMLog) -> QuerySet[LLMLog]:
    calls = LLMLog.objects.filter(session_id=log.session_id, purpose=log.purpose)
    return calls if log.session_id else calls.none()
