"""The line of a session that a search result shows."""

from collections.abc import Iterator, Sequence

from django.db.models import Q

from tasks_app.models import REFUSED, ContextEntry, ContextType, Session, SessionText, ToolCallLog
from tasks_app.models.session import SearchWord
from tasks_app.record import redactor_of
from tasks_app.text import full_text
from tasks_app.text.call_text import text_of_call
from tasks_app.text.highlight import count_matches

MAX_MESSAGES = 64  # messages read per session, newest first
MAX_MESSAGE_CHARS = 20_000  # characters read per message
_MESSAGE_TYPES = (ContextType.USER_MESSAGE, ContextType.AI_MESSAGE)


def matching_line(session: Session, search_words: Sequence[SearchWord]) -> str:
    """Return the newest line with most of the words, redacted, or '' if only the title or a tool result has them."""
    words, best_line, best_count = [word for word, _ in search_words], "", 0
    for line in _lines(session, search_words):
        if (count := count_matches(line, words)) > best_count:
            best_line, best_count = line, count
        if best_count == len(words):
            break
    return best_line


def _lines(session: Session, search_words: Sequence[SearchWord]) -> Iterator[str]:
    """Yield lines written by people and the agent, newest message first."""
    redactor = redactor_of(session)
    messages = ContextEntry.objects.filter(session=session, context_type__in=_MESSAGE_TYPES).filter(
        _entries_condition(session, search_words)
    )
    withheld = ToolCallLog.objects.filter(session_id=session.pk, status__in=REFUSED)
    refused = set(withheld.values_list("call_id", flat=True))
    for entry in messages.order_by("-seq")[:MAX_MESSAGES]:
        was_sent = entry.call and entry.call["id"] not in refused
        for text in (text_of_call(entry.tool_call) if was_sent else "", entry.content):
            yield from filter(None, map(str.strip, redactor.redacted(text)[:MAX_MESSAGE_CHARS].splitlines()))


def _entries_condition(session: Session, search_words: Sequence[SearchWord]) -> Q:
    """Return a condition on entries of the session that can contain one of the words."""
    condition = Q(seq__gt=session.indexed_seq)
    index_condition = Q()
    for _, terms in search_words:
        index_condition |= Q(pk__in=full_text.SESSIONS.ids(terms)) if terms else Q()
    if index_condition:
        texts = SessionText.objects.filter(index_condition, session=session).order_by("-first_seq")
        for first, last in texts.values_list("first_seq", "last_seq")[:2]:
            condition |= Q(seq__range=(first, last))
    return condition
