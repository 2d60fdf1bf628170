from collections.abc import Iterator

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from agentsite.configuration.sections import budgets
from tasks_app.models import Limits


def apply(limits: schema.Limits) -> Iterator[str]:
    if values := limits.given("budget"):
        yield from put(Limits.current(), values, "limits")
    yield from budgets.apply(limits.budget, "budget of this server")
