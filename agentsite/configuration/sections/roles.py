from collections.abc import Iterator, Sequence

from django.contrib.auth.models import Group

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from agentsite.configuration.sections import budgets
from tools_app.models import RolePolicy


def apply(roles: Sequence[schema.Role]) -> Iterator[str]:
    for item in roles:
        group = Group.objects.filter(name=item.name).first() or Group(name=item.name)
        yield from put(group, {}, f"role {item.name}")
        if values := item.tools.given():
            row = RolePolicy.objects.filter(role=group).first() or RolePolicy(role=group)
            yield from put(row, values, f"tools of role {item.name}")
        yield from budgets.apply(item.budget, f"budget of role {item.name}", role=group)
