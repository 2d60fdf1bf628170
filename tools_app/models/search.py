"""Search engines, and a cache of recent results."""

from datetime import timedelta

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class SearchEngineKind(models.TextChoices):
    TAVILY = "tavily", "Tavily"
    BRAVE = "brave", "Brave"
    EXA = "exa", "Exa"
    SERPER = "serper", "Serper (Google)"
    BOCHA = "bocha", "Bocha"
    SEARXNG = "searxng", "SearXNG"
    DDGS = "ddgs", "Public engines, without a key (ddgs)"


class SearchEngine(models.Model):
    """A search engine of the tool search. Its key, if it has one, is stored as the service key `key_name`."""

    KEY_PREFIX = "search."

    name = models.CharField(max_length=100, unique=True, validators=[RegexValidator(r"^[A-Za-z0-9_.-]+\Z")])
    kind = models.CharField(max_length=10, choices=SearchEngineKind)
    base_url = models.CharField(
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s/]", "Write the whole address, with http:// or https://.")],
        help_text="Required for SearXNG; for the others, only if a proxy is in front of the service.",
    )
    priority = models.PositiveSmallIntegerField(default=1, help_text="1 is tried first, the next ones when it fails.")
    enabled = models.BooleanField(default=True)

    class Meta:
        db_table = "search_engines"
        ordering = ["priority", "pk"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=SearchEngineKind.values), name="search_engine_kind_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def key_name(self) -> str:
        return f"{self.KEY_PREFIX}{self.name}"


class CachedSearchQuerySet(models.QuerySet["CachedSearch"]):
    def expired(self) -> "CachedSearchQuerySet":
        return self.filter(created_at__lt=Now() - CachedSearch.LIFETIME)


class CachedSearch(models.Model):
    """The result of a search, cached for the same search by the same person."""

    LIFETIME = timedelta(minutes=10)

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=64, help_text="SHA-256 of the arguments.")
    content = models.TextField()
    created_at = models.DateTimeField(db_default=Now(), db_index=True)

    objects = CachedSearchQuerySet.as_manager()

    class Meta:
        db_table = "cached_searches"
        indexes = [models.Index(fields=["user", "key"])]

    def __str__(self) -> str:
        return self.key[:12]
