"""Providers, the logical models that users choose, and the routes between them."""

from enum import StrEnum
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from llm_app.base_address import tidied_address
from llm_app.encryption import EncryptedTextField
from llm_app.models.log import LLMLog
from llm_app.sql import cached_sql, fetch_all, fetch_first
from llm_app.types import Purpose

LONGEST_NAME = 20  # characters of a protocol's name
_POSITIVE = MinValueValidator(1)


class Protocol(StrEnum):
    """Protocols that other code refers to. `llm_app.protocols` lists all protocols, including those of plugins."""

    OPENAI_NATIVE = "openai_native"
    OPENAI_XML = "openai_xml"
    ANTHROPIC_NATIVE = "anthropic_native"
    JSON_SCHEMA = "json_schema"
    LITELLM = "litellm"
    SCRIPTED = "scripted"


class Provider(models.Model):
    """An address that speaks a protocol, and its key."""

    name = models.CharField(max_length=100, unique=True)
    protocol = models.CharField(max_length=LONGEST_NAME)
    base_url = models.CharField(  # not a URLField, which refuses the short host names of a private network
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s/]", "Write the whole address, with http:// or https://.")],
        help_text="For example https://api.openai.com/v1",
    )
    api_key = EncryptedTextField(blank=True)
    litellm_provider = models.CharField(max_length=50, blank=True)
    timeout_s = models.FloatField(default=120, help_text="How long the provider may send nothing, in seconds.")
    total_timeout_s = models.FloatField(default=600, help_text="How long one attempt may take in all, in seconds.")
    breaker = models.JSONField(default=dict, blank=True, help_text="window, failure_ratio, min_calls, cooldown_s")
    enabled = models.BooleanField(default=True)
    listed_models = models.JSONField(
        default=list, blank=True, editable=False, help_text="The provider's list of models, as last fetched."
    )

    class Meta:
        db_table = "providers"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(protocol="litellm") | ~Q(litellm_provider=""), name="provider_litellm_names_its_provider"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Tidy the address. Reject one that passes the regular expression but has unbalanced brackets or an invalid
        port.
        """
        try:
            urlsplit(self.base_url).port  # noqa: B018  may raise
            self.base_url = tidied_address(self.base_url)
        except ValueError as error:
            raise ValidationError({"base_url": f"This is no address: {error}."}) from error


class ModelKind(models.TextChoices):
    """The output of a model. Only text models hold conversations; tools and the memory call the others."""

    TEXT = "text", "Text"
    IMAGE = "image", "Images"
    AUDIO = "audio", "Speech"
    EMBEDDING = "embedding", "Embeddings"


class LogicalModelQuerySet(models.QuerySet["LogicalModel"]):
    def visible_to(self, user_id: int | None) -> "LogicalModelQuerySet":
        """Return the models that a user can choose for a conversation."""
        return self.open_to(user_id).filter(kind=ModelKind.TEXT)

    def open_to(self, user_id: int | None) -> "LogicalModelQuerySet":
        """Return the models of any kind that a user can use: those without roles, and those of the user's roles."""
        granted = LogicalModel.roles.through.objects.filter(logicalmodel=OuterRef("pk"))
        return self.filter(~Exists(granted) | Exists(granted.filter(group__in=get_user_model().roles_of(user_id))))

    def window_of(self, name: str) -> int:
        """Return a model's context window in tokens; the default one if no such model exists.

        An empty name is the default model.
        """
        window = (
            self.filter(Q(name=name) if name else Q(is_default=True)).values_list("context_window", flat=True).first()
        )
        return window or int(LogicalModel._meta.get_field("context_window").get_default())


class LogicalModel(models.Model):
    """A model name that users and agents choose. Its routes decide which provider answers."""

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=10, choices=ModelKind, default=ModelKind.TEXT, help_text="What it returns.")
    context_window = models.PositiveIntegerField(default=128_000, validators=[_POSITIVE], help_text="In tokens.")
    max_output_tokens = models.PositiveIntegerField(default=8_192, validators=[_POSITIVE])
    is_default = models.BooleanField(default=False, help_text="Used where no model was chosen.")
    roles: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        Group, blank=True, related_name="+", help_text="Whose members may use it. None: everyone."
    )

    objects = LogicalModelQuerySet.as_manager()

    class Meta:
        db_table = "logical_models"
        ordering = ["-is_default", "name"]
        verbose_name = "model"
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="one_default_model"),
            models.CheckConstraint(condition=Q(kind__in=ModelKind.values), name="model_kind_known"),
            models.CheckConstraint(condition=Q(is_default=False) | Q(kind="text"), name="default_model_is_of_text"),
        ]

    def __str__(self) -> str:
        return self.name

    def retire_demo(self) -> None:
        """Delete the demo's route if there is a real one."""
        demo = Q(provider__protocol=Protocol.SCRIPTED, provider_model="demo")
        if self.routes.exclude(provider__protocol=Protocol.SCRIPTED).exists():
            self.routes.filter(demo).delete()


_SAME_TARGET = {"provider": OuterRef("provider"), "provider_model": OuterRef("provider_model")}


def probe_is_due(path: str = "") -> Q:
    """Return the condition that a call may probe a breaker's provider, by the database's clock, even if that was set
    back.
    """
    is_clock_set_back = Q(**{f"{path}probe_at__isnull": False, f"{path}changed_at__gt": Now()})
    return Q(**{f"{path}probe_at__lte": Now()}) | is_clock_set_back


class RouteQuerySet(models.QuerySet["Route"]):
    def usable_for(self, model: str, user_id: int | None = None, task_id: UUID | None = None) -> "RouteQuerySet":
        """Return the enabled routes of a logical model by priority. An empty name means the default model.

        With a user, only models that the user can use; with a task, only routes that may answer in it. The routes
        include the provider's breaker and the annotations `probe_is_due` and `has_learned`.
        """
        routes = self.filter(Q(model__name=model) if model else Q(model__is_default=True), provider__enabled=True)
        routes = routes._without_demo(task_id)
        if user_id is not None:
            routes = routes.filter(model__in=LogicalModel.objects.open_to(user_id))
        due = probe_is_due("provider__circuit_breaker__")
        return (
            routes.select_related("provider__circuit_breaker", "model")
            .annotate(probe_is_due=due, has_learned=Exists(LearnedQuirk.objects.filter(**_SAME_TARGET)))
            .order_by("priority", "pk")
        )

    @cached_sql
    def list_usable(self, model: str | None, user_id: int | None, task_id: UUID | None) -> "list[Route]":
        """Return the rows of `usable_for`, for the default model if there is no name."""
        return fetch_all(self.usable_for(cast(str, model), user_id, task_id))

    @cached_sql
    def find_default(self) -> "Route | None":
        """Return the first route of the default model."""
        return fetch_first(self.usable_for(""))

    def _without_demo(self, task_id: UUID | None) -> "RouteQuerySet":
        """Exclude the demo where it must not take over: next to a real route, even a disabled one, and in tasks that
        used one.
        """
        others = Route.objects.filter(model=OuterRef("model")).exclude(provider__protocol=Protocol.SCRIPTED)
        steps = LLMLog.objects.filter(task_id=task_id, purpose=Purpose.STEP).exclude(adapter=Protocol.SCRIPTED)
        real = Exists(others) | Exists(steps) if task_id else Exists(others)
        return self.exclude(real, provider__protocol=Protocol.SCRIPTED)


class Route(models.Model):
    """A logical model's route to a model of a provider, with a priority and the parameters of its calls."""

    model = models.ForeignKey(LogicalModel, models.CASCADE, related_name="routes")
    provider = models.ForeignKey(Provider, models.CASCADE, related_name="routes")
    provider_model = models.CharField(max_length=200, help_text="The model's name at the provider.")
    priority = models.PositiveSmallIntegerField(default=1, help_text="1 is tried first.")
    context_window = models.PositiveIntegerField(
        null=True, blank=True, validators=[_POSITIVE], help_text="Only if smaller than the model's."
    )
    max_tokens = models.PositiveIntegerField(null=True, blank=True, validators=[_POSITIVE])
    temperature = models.FloatField(null=True, blank=True)
    thinking_budget = models.PositiveIntegerField(
        null=True, blank=True, help_text="In tokens, where the provider supports it."
    )
    takes_images = models.BooleanField(default=False, help_text="Whether the model accepts images.")
    extra_body = models.JSONField(default=dict, blank=True)
    extra_headers = models.JSONField(
        default=dict, blank=True, help_text="Stored and shown unencrypted: API keys belong in the provider's own field."
    )
    price = models.JSONField(
        default=dict, blank=True, help_text="USD per million tokens: input, cached_input, cache_write, output"
    )
    quirks = models.JSONField(default=dict, blank=True, help_text="How this provider differs from its protocol.")
    works = models.BooleanField(
        "works", null=True, editable=False, help_text="The outcome of its last test. Empty: not tested."
    )
    verdict = models.TextField(blank=True, editable=False, help_text="What its last test said.")
    tested_at = models.DateTimeField(null=True, editable=False)

    objects = RouteQuerySet.as_manager()

    class Meta:
        db_table = "routes"
        ordering = ["model", "priority"]
        constraints = [
            models.UniqueConstraint(fields=["model", "provider", "provider_model"], name="one_route_per_target"),
        ]

    def __str__(self) -> str:
        return f"{self.model} → {self.provider}/{self.provider_model}"

    def learned_quirks(self) -> list[tuple[str, Any]]:
        """Return names and values of learned quirks, the newest last.

        Routes of `usable_for` need no query if there are none.
        """
        if self.provider.pk is None or not getattr(self, "has_learned", True):
            return []
        rows = LearnedQuirk.objects.filter(provider=self.provider, provider_model=self.provider_model)
        return list(rows.values_list("quirk", "value"))


class LearnedQuirk(models.Model):
    """A quirk that was learned from a provider's rejection. Quirks that an administrator set on a route override it."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="learned_quirks")
    provider_model = models.CharField(max_length=200, help_text="The model's name at the provider.")
    quirk = models.CharField(max_length=50)
    value = models.JSONField()
    reason = models.TextField(help_text="The provider's own words.")
    learned_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "learned_quirks"
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "provider_model", "quirk", "value"], name="a_quirk_is_learned_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider}/{self.provider_model}: {self.quirk} = {self.value}"
