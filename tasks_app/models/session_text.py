"""What sessions are found by: the terms of their entries, put together in the background."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from tasks_app.text import full_text
from tasks_app.text.retrieval import fold, terms_of

MOST_WORDS = 8  # of a search
Word = tuple[Any, Any]  # folded, and what the index is asked for: nothing, if it has no terms


class SessionText(models.Model):
    """The terms of a session's entries from `first_seq` to `last_seq`, and of the files that were changed there.

    They were redacted with the secrets of `masked_with`, which also names the version of the index.
    """

    session = models.ForeignKey("tasks_app.Session", models.CASCADE, related_name="texts", db_index=False)
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    terms = models.TextField()
    masked_with = models.CharField(max_length=16)

    class Meta:
        db_table = "session_texts"
        indexes = [models.Index(fields=["session", "first_seq"])]

    def __str__(self) -> str:
        return f"{self.session_id} {self.first_seq} to {self.last_seq}"


def is_behind() -> Q:
    """Of sessions: the terms of their newest entries are not there yet. An index answers this very condition."""
    return Q(last_seq__gt=F("indexed_seq"))


def searched(words: str) -> list[Word]:
    """Each of them; the last one may be the beginning of one."""
    given = [(word, terms_of(word)) for word in fold(words).split()[:MOST_WORDS]]
    last = len(given) - 1
    return [
        (word, full_text.with_all(terms, unfinished=place == last) if terms else "")
        for place, (word, terms) in enumerate(given)
    ]


def words_of(shape: Sequence[bool], values: Sequence[Any]) -> list[Word]:
    """Of values that stand for words: whether each has terms is in `shape`, as that decides over the query's text."""
    return [(values[2 * place], values[2 * place + 1] if has_terms else "") for place, has_terms in enumerate(shape)]


def has_words(
    words: Iterable[Word], entries: "models.QuerySet[models.Model]", changes: "models.QuerySet[models.Model]"
) -> Q:
    """Of sessions: each word is in the title, in an entry, or in the name of a file that was changed.

    `entries` and `changes` are those of the outer query's session; those without terms are read themselves.
    """
    condition = Q()
    new = entries.filter(seq__gt=OuterRef("indexed_seq"))
    said = new.filter(context_type="ai_message").exclude(metadata__has_key="output_filter")  # that may withhold it
    changed = changes.filter(seq__gte=OuterRef("indexed_seq"))
    for word, asked in words:
        found = full_text.has("title", word)
        found |= is_behind() & Q(Exists(new.filter(full_text.has("content", word))))
        found |= is_behind() & Q(Exists(said.filter(full_text.says("tool_call", word))))
        found |= (is_behind() | Q(last_seq=0)) & Q(Exists(changed.filter(full_text.has("files__path", word))))
        if asked:
            ids = full_text.SESSIONS.ids(asked)
            found |= Q(Exists(SessionText.objects.filter(session=OuterRef("pk"), pk__in=ids)))
        condition &= found
    return condition
