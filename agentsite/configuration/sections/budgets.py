from collections.abc import Iterator
from typing import Any

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from llm_app.models import Budget


def apply(budget: schema.Budget, what: str, user: Any = None, role: Any = None) -> Iterator[str]:
    """The budget of a user, of a role, or of all."""
    if values := budget.given():
        row = Budget.objects.filter(user=user, role=role).first() or Budget(user=user, role=role)
        yield from put(row, values, what)
