"""Versions of agents: complete settings, with author and time. Rows are only added."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import OuterRef, Subquery

from tasks_app.models.agent import SECTIONS, Agent, PromptSection

Content = dict[str, Any]  # values by field name, related rows as their names, and `sections` as texts by name
_EXCLUDED_FIELDS = ("id", "is_default", "picture")  # these do not affect its behaviour
FIRST_NOTE = "As it was when its versions began."
OTHER_CHANGE_NOTE = "Changed by other means than the admin or the configuration file."


class AgentVersionQuerySet(models.QuerySet["AgentVersion"]):
    def current(self, agent: Agent, *, author: Any = None, note: str | None = None) -> "AgentVersion":
        """Return the agent's version. Create a new one if the agent has changed since the newest, by any means.

        Raises Agent.DoesNotExist.
        """
        newest = self.filter(agent=agent).first()
        if newest is not None and newest.has_content(content_of(agent)):
            return newest
        with transaction.atomic():
            content = content_of(Agent.objects.select_for_update(of=("self",)).with_models().get(pk=agent.pk))
            newest = self.filter(agent=agent).first()
            if newest is not None and newest.has_content(content):
                return newest
            number = newest.number + 1 if newest else 1
            if note is None:
                note = OTHER_CHANGE_NOTE if newest else FIRST_NOTE
            return self.create(agent_id=agent.pk, number=number, content=content, author=author, note=note)

    def with_neighbours(self) -> "AgentVersionQuerySet":
        """Annotate `before`, the content of the preceding version, and `newest`, the key of the agent's current
        version.
        """
        others = AgentVersion.objects.filter(agent=OuterRef("agent"))
        before = others.filter(pk__lt=OuterRef("pk")).values("content")[:1]
        return self.annotate(before=Subquery(before), newest=Subquery(others.values("pk")[:1]))


class AgentVersion(models.Model):
    """All settings of an agent at a time, in `content`. It survives its agent, because tasks and LLM calls refer to
    it.
    """

    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="versions")
    number = models.PositiveIntegerField()
    content = models.JSONField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    note = models.CharField(
        max_length=200, blank=True, help_text="Origin of the version, if it is not the agent's form."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AgentVersionQuerySet.as_manager()

    class Meta:
        db_table = "agent_versions"
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="version_once_per_agent")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.number}"

    @property
    def name(self) -> str:
        """The agent's name in this version."""
        return str(self.content["name"])

    def has_content(self, content: Content) -> bool:
        """Return whether the settings are equal. Fields that this version lacks count as their defaults."""
        return bool(_default_content() | self.content == content)

    def restore(self, author: Any) -> list[str]:
        """Restore the agent's settings as a new version, and return sentences about values that no longer exist.

        Raises Agent.DoesNotExist.
        """
        with transaction.atomic():
            agent = Agent.objects.select_for_update().get(versions=self)
            AgentVersion.objects.current(agent)
            problems = list(_set_fields(agent, _default_content() | self.content))
            _set_sections(agent, self.content["sections"], author)
            AgentVersion.objects.current(agent, author=author, note=f"Version {self.number} put back.")
        return problems


def content_of(agent: Agent) -> Content:
    values = {field.name: _serialized(getattr(agent, field.name)) for field in _fields()}
    values |= {field.name: sorted(str(row) for row in getattr(agent, field.name).all()) for field in _relations()}
    return values | {"sections": dict(PromptSection.objects.texts_of(agent))}


def _default_content() -> Content:
    """Return the content of an agent with default settings."""
    values = {field.name: None if field.is_relation else field.get_default() for field in _fields()}
    return values | {field.name: [] for field in _relations()} | {"sections": {}}


def _fields() -> "list[models.Field[Any, Any]]":
    return [field for field in Agent._meta.concrete_fields if field.name not in _EXCLUDED_FIELDS]


def _relations() -> "list[models.ManyToManyField[Any, Any]]":
    return list(Agent._meta.local_many_to_many)


def _serialized(value: Any) -> Any:
    return str(value) if isinstance(value, models.Model) else value


def _set_fields(agent: Agent, content: Content) -> Iterator[str]:
    """Save the fields. Yield a sentence for each value that refers to a missing row or a taken name."""
    for field in _fields():
        value = content[field.name]
        if field.is_relation and value is not None:
            row = field.related_model._default_manager.filter(name=value).first()  # type: ignore[union-attr]
            if row is None:
                yield f"{field.verbose_name}: there is no {value} any more"
            value = row
        elif field.name == "name" and Agent.objects.exclude(pk=agent.pk).filter(name=value).exists():
            yield f"name: another agent is called {value} now"
            continue
        setattr(agent, field.name, value)
    agent.save()
    for relation in _relations():
        rows = list(relation.related_model._default_manager.filter(name__in=content[relation.name]))  # type: ignore[union-attr]
        yield from (
            f"{relation.verbose_name}: there is no {name} any more"
            for name in content[relation.name]
            if name not in map(str, rows)
        )
        getattr(agent, relation.name).set(rows)


def _set_sections(agent: Agent, texts: dict[str, str], author: Any) -> None:
    current_texts = dict(PromptSection.objects.texts_of(agent))
    for name in SECTIONS:
        if current_texts.get(name, "") != texts.get(name, ""):
            PromptSection.objects.create(agent=agent, section=name, text=texts.get(name, ""), author=author)
