"""Personal filing of sessions: pinned, archived and tagged; and the search over a user's list."""

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

MAX_TAGS = 20
_MAX_TAG_CHARS = 40


class FilingQuerySet(models.QuerySet["Filing"]):
    def tags_of(self, user: Any) -> list[str]:
        """Return the user's tags in alphabetical order."""
        texts = self.filter(user=user).exclude(tags="").values_list("tags", flat=True)
        return sorted({tag for text in texts for tag in text.split()})


class Filing(models.Model):
    """A person's filing of a session. It is personal because shared sessions appear in several lists.

    Without a row, the session is neither pinned nor archived and has no tags.
    """

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


def format_tags(names: Iterable[str]) -> str:
    """Return the value of the column: unique tags in lower case, without `#`. A name with spaces gives several
    tags.
    """
    candidates = [word.strip("#,;").lower()[:_MAX_TAG_CHARS] for name in names for word in name.split()]
    tags = list(dict.fromkeys(filter(None, candidates)))[:MAX_TAGS]
    return f" {' '.join(tags)} " if tags else ""


def with_filing(sessions: SessionQuerySet, user: Any) -> Any:
    """Annotate `is_pinned`, `is_archived` and `tag_text` from the user's filing."""
    mine = FilteredRelation("filings", condition=Q(filings__user=user))
    return sessions.annotate(
        mine=mine,
        is_pinned=Coalesce("mine__is_pinned", False),
        is_archived=Coalesce("mine__is_archived", False),
        tag_text=Coalesce("mine__tags", Value(""), output_field=models.TextField()),
    )


def file_session(session: Session, user: Any, **fields: Any) -> None:
    """Set `is_pinned`, `is_archived` or `tags` of a session for a user."""
    Filing.objects.update_or_create(session=session, user=user, defaults=fields)


class ImpossibleSearch(Refusal):
    """This search narrows by a value that does not exist."""

    status = 422


@dataclass(frozen=True, kw_only=True)
class SessionSearch:
    """A parsed search: words and the operators `tag:`, `model:`, `before:`, `after:` (2027-01-31), `is:pinned`,
    `is:archived`.

    An unknown operator is a word.
    """

    words: str = ""
    tags: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    before: datetime | None = None
    after: datetime | None = None
    kinds: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "SessionSearch":
        """Parse a search. Raises ImpossibleSearch, which lists the valid values."""
        words: list[str] = []
        values: dict[str, list[Any]] = {"tag": [], "model": [], "before": [], "after": [], "is": []}
        for word in _split_words(text):
            name, _, value = word.partition(":")
            if name not in values or not value:  # an unknown or unfinished operator
                words.append(word)
                continue
            if name == "is" and value not in ("pinned", "archived"):
                raise ImpossibleSearch(f"{word}: it can be is:pinned or is:archived.", field="q")
            values[name].append(_midnight(word) if name in ("before", "after") else value)
        return cls(
            words=" ".join(words),
            tags=tuple(format_tags([tag]) for tag in values["tag"]),
            models=tuple(values["model"]),
            before=min(values["before"], default=None),
            after=max(values["after"], default=None),
            kinds=tuple(values["is"]),
        )

    @property
    def has_only_words(self) -> bool:
        """Return whether the search has no operators."""
        return self == SessionSearch(words=self.words)

    def apply(self, sessions: SessionQuerySet, user: Any) -> Any:
        """Return the matching sessions, annotated by `with_filing`."""
        matches = with_filing(sessions.matching(self.words), user)
        filings = Filing.objects.filter(session=OuterRef("pk"), user=user)
        for tag in self.tags:
            matches = matches.filter(Exists(filings.filter(tags__contains=tag)))
        for kind in self.kinds:
            matches = matches.filter(Exists(filings.filter(**{f"is_{kind}": True})))
        for name in self.models:
            matches = matches.filter(model__name__iexact=name)
        if self.before:
            matches = matches.filter(updated_at__lt=self.before)
        return matches.filter(updated_at__gte=self.after) if self.after else matches


def _split_words(text: str) -> list[str]:
    """Split a search into words. Quotation marks enclose a phrase, also after an operator: tag:"a b"."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    try:
        return list(lexer)
    except ValueError:  # an open quotation mark, while the person types
        return text.replace('"', " ").split()


def _midnight(operator: str) -> datetime:
    """Return the beginning of a day in the active time zone. Raises ImpossibleSearch."""
    name, _, value = operator.partition(":")
    try:
        if day := parse_date(value):
            return timezone.make_aware(datetime.combine(day, time.min)).astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, in another time zone
        return datetime.min.replace(tzinfo=UTC) if day and day.year < 2 else datetime.max.replace(tzinfo=UTC)
    except ValueError:  # such as 2027-02-31
        pass
    raise ImpossibleSearch(f"{operator} is not a day. Write it as {name}:2027-01-31.", field="q")
