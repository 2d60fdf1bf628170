"""Deleting a role opens to nobody else what was open to its members alone."""

from typing import Any

from django.db.models import CASCADE, ProtectedError, QuerySet
from django.db.models.deletion import Collector

from llm_app.models import LogicalModel
from tasks_app.models import Agent
from tools_app.models import McpServer, Skill, ToolSetting

_OPEN_WITHOUT_ROLES = (ToolSetting, McpServer, Skill, Agent, LogicalModel)


def keep_the_last(collector: Collector, field: Any, named: QuerySet[Any], using: str) -> None:
    """An `on_delete`: roles leave the lists of roles, but where none would be left, the row protects them."""
    through = field.model
    owner = next(each for each in through._meta.fields if each.is_relation and each is not field)
    left = through.objects.using(using).exclude(pk__in=named.values("pk"))
    emptied = owner.related_model.objects.using(using).filter(pk__in=named.values(owner.name))
    if protecting := set(emptied.exclude(pk__in=left.values(owner.name))):
        raise ProtectedError("These are open to the role alone: first say who may use them.", protecting)
    CASCADE(collector, field, named, using)


def protect() -> None:
    """Django makes the tables between, and lets no field say what happens there."""
    for model in _OPEN_WITHOUT_ROLES:
        roles: Any = model._meta.get_field("roles")
        between = roles.remote_field.through._meta.get_field(roles.m2m_reverse_field_name())
        between.remote_field.on_delete = keep_the_last
