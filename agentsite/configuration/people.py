"""Roles, users, and the limits that hold for all."""

from typing import Annotated

from django.contrib.auth.models import AbstractBaseUser
from pydantic import AfterValidator, Field, StringConstraints

from agentsite.configuration.section import Count, CountOrNone, Dollars, Name, Secret, Section, Tokens
from tools_app.models import Approval


class Budget(Section):
    """An empty limit is none."""

    usd_per_task: Dollars | None = None
    usd_per_day: Dollars | None = None
    usd_per_month: Dollars | None = None
    tokens_per_task: Tokens | None = None
    tokens_per_day: Tokens | None = None
    tokens_per_month: Tokens | None = None


class RoleTools(Section):
    """`approvals` says when calls of the role's members ask, by tool, in place of the tool's own setting."""

    allow: list[Name] = []
    deny: list[Name] = []
    approvals: dict[Name, Approval] = {}


class UserTools(Section):
    deny: list[Name] = []


class Role(Section):
    name: Name
    tools: RoleTools = RoleTools()
    budget: Budget = Budget()


class User(Section):
    username: Annotated[
        str,
        StringConstraints(strip_whitespace=True, pattern=r"^[\w.@+-]+$", max_length=150),
        AfterValidator(AbstractBaseUser.normalize_username),
    ]
    password: Secret | None = None
    roles: list[Name] = []
    api_token: Secret | None = None
    tools: UserTools = UserTools()
    budget: Budget = Budget()


class Limits(Section):
    max_iterations: Count = 60
    tool_loop_threshold: Count = 5
    tool_loop_window: Count = 20
    tool_loop_refusals: Count = 3
    no_tool_call_retries: CountOrNone = 3
    tool_call_limit: Count | None = None
    stale_plan_after: Count = 10
    budget_reminder_percent: Annotated[Count, Field(le=100)] = 80
    result_tokens: Count = 2_500
    compact_at_percent: Annotated[Count, Field(ge=10, le=90)] = 80
    tail_percent: Annotated[Count, Field(ge=1, le=40)] = 15
    approval_hours: Count = 24
    workspace_bytes: Count = 2 * 1000**3
    budget: Budget = Budget()
