"""How people keep sessions in their lists: pinned, archived, with tags; and the search over them."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, FilteredRelation, OuterRef, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.dateparse import parse_date

from tasks_app.models.errors import Refusal
from tasks_app.models.session import Session, SessionQuerySet

MOST_TAGS = 20
_LONGEST_TAG = 40


class FilingQuerySet(models.QuerySet["Filing"]):
    def tags_of(self, user: Any) -> list[str]:
        """All tags that a user has given, by the alphabet."""
        texts = self.filter(user=user).exclude(tags="").values_list("tags", flat=True)
        return sorted({tag for text in texts for tag in text.split()})


class Filing(models.Model):
    """One person's, so that what is shared lies in each list as its reader wants it. No row: neither of all that."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="filings")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="filings")
    is_pinned = models.BooleanField(default=False)
    is_archived = models.BooleanField(default=False)
    tags = models.TextField(blank=True, help_text="Separated by spaces, with one before the first and after the last.")

    objects = FilingQuerySet.as_manager()

    class Meta:
        db_table = "session_filings"
        constraints = [models.UniqueConstraint(fields=["user", "session"], name="filed_once_per_user")]

    def __str__(self) -> str:
        return f"{self.session} of {self.user}"


def as_tags(names: Iterable[str]) -> str:
    """As the column has them: in lower case, without `#`, each once. Names with spaces are several."""
    words = [word.strip("#,;").lower()[:_LONGEST_TAG] for name in names for word in name.split()]
    tags = list(dict.fromkeys(filter(None, words)))[:MOST_TAGS]
    return f" {' '.join(tags)} " if tags else ""


def filed(sessions: SessionQuerySet, user: Any) -> Any:
    """Annotates `is_pinned`, `is_archived` and `tag_text`, as the user has it."""
    mine = FilteredRelation("filings", condition=Q(filings__user=user))
    return sessions.annotate(
        mine=mine,
        is_pinned=Coalesce("mine__is_pinned", False),
        is_archived=Coalesce("mine__is_archived", False),
        tag_text=Coalesce("mine__tags", Value(""), output_field=models.TextField()),
    )


def file_session(session: Session, user: Any, **fields: Any) -> None:
    """Sets `is_pinned`, `is_archived` or `tags` of a session in a user's list."""
    Filing.objects.update_or_create(session=session, user=user, defaults=fields)


class ImpossibleSearch(Refusal):
    """This search narrows by a value that does not exist."""

    status = 422


@dataclass(frozen=True, kw_only=True)
class SessionSearch:
    """What somebody has typed: words, and `tag:`, `model:`, `before:`, `after:` (2027-01-31), `is:pinned`,
    `is:archived`. What is none of these is a word.
    """

    words: str = ""
    tags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    before: datetime | None = None
    after: datetime | None = None
    kinds: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "SessionSearch":
        """Raises ImpossibleSearch, which names the value and those that there are."""
        words: list[str] = []
        found: dict[str, list[Any]] = {"tag": [], "model": [], "before": [], "after": [], "is": []}
        for word in _split(text):
            name, _, value = word.partition(":")
            if name not in found or not value:  # or it is still being typed
                words.append(word)
                continue
            if name == "is" and value not in ("pinned", "archived"):
                raise ImpossibleSearch(f"{word}: it can be is:pinned or is:archived.", field="q")
            found[name].append(_midnight(word) if name in ("before", "after") else value)
        return cls(
            words=" ".join(words),
            tags=tuple(as_tags([tag]) for tag in found["tag"]),
            models=tuple(found["model"]),
            before=min(found["before"], default=None),
            after=max(found["after"], default=None),
            kinds=tuple(found["is"]),
        )

    @property
    def is_of_words(self) -> bool:
        """Nothing else narrows it down."""
        return self == SessionSearch(words=self.words)

    def among(self, sessions: SessionQuerySet, user: Any) -> Any:
        """Those that it finds, filed as the user has them."""
        found = filed(sessions.matching(self.words), user)
        mine = Filing.objects.filter(session=OuterRef("pk"), user=user)
        for tag in self.tags:
            found = found.filter(Exists(mine.filter(tags__contains=tag)))
        for kind in self.kinds:
            found = found.filter(Exists(mine.filter(**{f"is_{kind}": True})))
        for name in self.models:
            found = found.filter(model__name__iexact=name)
        if self.before:
            found = found.filter(updated_at__lt=self.before)
        return found.filter(updated_at__gte=self.after) if self.after else found


def _split(text: str) -> list[str]:
    """Words; a phrase in quotation marks is one, with what stands right before it: tag:"a b"."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    try:
        return list(lexer)
    except ValueError:  # a quotation that is not closed: still being typed
        return text.replace('"', " ").split()


def _midnight(operator: str) -> datetime:
    """The beginning of a day in the zone of who asks. Raises ImpossibleSearch."""
    name, _, value = operator.partition(":")
    try:
        if day := parse_date(value):
            return timezone.make_aware(datetime.combine(day, time.min)).astimezone(UTC)
    except OverflowError:  # the first day of all in the east, or the last in the west
        return datetime.min.replace(tzinfo=UTC) if day and day.year < 2 else datetime.max.replace(tzinfo=UTC)
    except ValueError:  # such as 2027-02-31
        pass
    raise ImpossibleSearch(f"{operator} is not a day. Write it as {name}:2027-01-31.", field="q")
