from collections.abc import Iterator, Sequence

from django.contrib.auth.models import Group

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from agentsite.configuration.sections import routes
from llm_app.models import LogicalModel, ModelKind

_DEFAULT = "default"


def apply(models: Sequence[schema.LogicalModel]) -> Iterator[str]:
    for item in models:
        row = LogicalModel.objects.filter(name=item.name).first() or LogicalModel(name=item.name)
        yield from put(row, item.given("name", "providers", "roles"), f"model {item.name}")
        if "roles" in item.model_fields_set:
            yield from _open_to(row, item.roles)
        if "providers" in item.model_fields_set:
            yield from routes.apply(row, item.providers)
    yield from _choose_default([item.name for item in models if item.kind == ModelKind.TEXT])


def _open_to(row: LogicalModel, roles: Sequence[str]) -> Iterator[str]:
    """No role: everyone."""
    present = set(row.roles.values_list("name", flat=True))
    if set(roles) != present:
        row.roles.set(Group.objects.filter(name__in=roles))
        yield f"model {row}: roles [{', '.join(sorted(present))}] → [{', '.join(sorted(roles))}]"


def _choose_default(names: Sequence[str]) -> Iterator[str]:
    """The model called `default`; else the first one, where there was none but the demo's."""
    current = LogicalModel.objects.filter(is_default=True).first()
    if _DEFAULT in names:
        chosen = _DEFAULT
    elif names and (current is None or not current.routes.exclude(routes.DEMO).exists()):
        chosen = names[0]
    else:
        return
    if current is not None and current.name == chosen:
        return
    LogicalModel.objects.filter(is_default=True).update(is_default=False)
    LogicalModel.objects.filter(name=chosen).update(is_default=True)
    yield f"model {chosen}: is the default model now" + (f", in place of {current}" if current else "")
