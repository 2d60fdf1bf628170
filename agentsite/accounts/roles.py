"""The protection of roles: deleting one never opens rows to everyone that only its members could use."""

from typing import Any

from django.db.models import CASCADE, ProtectedError, QuerySet
from django.db.models.deletion import Collector

from llm_app.models import LogicalModel
from tasks_app.models import Agent
from tools_app.models import McpServer, Skill, ToolSetting

_OPEN_WITHOUT_ROLES = (ToolSetting, McpServer, Skill, Agent, LogicalModel)


def keep_the_last(collector: Collector, field: Any, named: QuerySet[Any], using: str) -> None:
    """Remove roles from lists of roles (an `on_delete` handler).

    Raises: ProtectedError if a list would become empty, which opens its row to everyone.
    """
    through = field.model
    owner = next(each for each in through._meta.fields if each.is_relation and each is not field)
    left = through.objects.using(using).exclude(pk__in=named.values("pk"))
    emptied = owner.related_model.objects.using(using).filter(pk__in=named.values(owner.name))
    if protecting := set(emptied.exclude(pk__in=left.values(owner.name))):
        raise ProtectedError("These are open to the role alone: first say who may use them.", protecting)
    CASCADE(collector, field, named, using)


def protect() -> None:
    """Set the `on_delete` of the many-to-many tables that Django generates: no field option does."""
    for model in _OPEN_WITHOUT_ROLES:
        roles: Any = model._meta.get_field("roles")
        between = roles.remote_field.through._meta.get_field(roles.m2m_reverse_field_name())
        between.remote_field.on_delete = keep_the_last
