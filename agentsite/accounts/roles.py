"""The protection of roles: deleting one never opens rows to everyone that only its members could use."""

from typing import Any

from django.db.models import CASCADE, ProtectedError, QuerySet
from django.db.models.deletion import Collector

from llm_app.models import LogicalModel
from tasks_app.models import Agent
from tools_app.models import McpServer, Skill, ToolSetting

_OPEN_WITHOUT_ROLES = (ToolSetting, McpServer, Skill, Agent, LogicalModel)


def remove_or_protect(collector: Collector, field: Any, deleted: QuerySet[Any], using: str) -> None:
    """Remove roles from lists of roles (an `on_delete` handler).

    Raises: ProtectedError if a list would become empty, which opens its row to everyone.
    """
    through = field.model
    owner = next(other for other in through._meta.fields if other.is_relation and other is not field)
    remaining = through.objects.using(using).exclude(pk__in=deleted.values("pk"))
    affected = owner.related_model.objects.using(using).filter(pk__in=deleted.values(owner.name))
    if protected := set(affected.exclude(pk__in=remaining.values(owner.name))):
        raise ProtectedError("These are open to the role alone: first say who may use them.", protected)
    CASCADE(collector, field, deleted, using)


def protect_from_deletion() -> None:
    """Set the `on_delete` of the many-to-many tables that Django generates: no field option does."""
    for model in _OPEN_WITHOUT_ROLES:
        roles: Any = model._meta.get_field("roles")
        foreign_key = roles.remote_field.through._meta.get_field(roles.m2m_reverse_field_name())
        foreign_key.remote_field.on_delete = remove_or_protect
