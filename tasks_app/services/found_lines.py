"""The line of a session that a search result shows."""

from collections.abc import Iterator, Sequence

from django.db.models import Q

from tasks_app.models import REFUSED, ContextEntry, ContextType, Session, SessionText, ToolCallLog
from tasks_app.models.session import SearchWord
from tasks_app.record import redactor_of
from tasks_app.text import full_text
from tasks_app.text.marked import matches_in
from tasks_app.text.said import said_in

MOST_MESSAGES = 64  # messages read per session, newest first
LONGEST = 20_000  # characters read per message
_SAID = (ContextType.USER_MESSAGE, ContextType.AI_MESSAGE)


def found_line(session: Session, wanted: Sequence[SearchWord]) -> str:
    """Return the newest line with most of the words, redacted, or '' if only the title or a tool result has them."""
    words, best, most = [word for word, _ in wanted], "", 0
    for line in _lines(session, wanted):
        if (count := matches_in(line, words)) > most:
            best, most = line, count
        if most == len(words):
            break
    return best


def _lines(session: Session, wanted: Sequence[SearchWord]) -> Iterator[str]:
    """Yield lines written by people and the agent, newest message first."""
    redactor = redactor_of(session)
    messages = ContextEntry.objects.filter(session=session, context_type__in=_SAID).filter(_places(session, wanted))
    withheld = ToolCallLog.objects.filter(session_id=session.pk, status__in=REFUSED)
    refused = set(withheld.values_list("call_id", flat=True))
    for entry in messages.order_by("-seq")[:MOST_MESSAGES]:
        is_told = entry.call and entry.call["id"] not in refused
        for text in (said_in(entry.tool_call) if is_told else "", entry.content):
            yield from filter(None, map(str.strip, redactor.redacted(text)[:LONGEST].splitlines()))


def _places(session: Session, wanted: Sequence[SearchWord]) -> Q:
    """Return a condition on entries of the session that can contain one of the words."""
    places = Q(seq__gt=session.indexed_seq)
    asked = Q()
    for _, terms in wanted:
        asked |= Q(pk__in=full_text.SESSIONS.ids(terms)) if terms else Q()
    if asked:
        texts = SessionText.objects.filter(asked, session=session).order_by("-first_seq")
        for first, last in texts.values_list("first_seq", "last_seq")[:2]:
            places |= Q(seq__range=(first, last))
    return places
