"""The sections `roles`, `users` and `limits`: users, their rights and budgets, and the limits of the server."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from django.contrib.auth.models import AbstractBaseUser, Group
from pydantic import AfterValidator, Field, StringConstraints

from agentsite.accounts.models import ApiToken, User
from agentsite.configuration.section import (
    Bytes,
    ConfigurationSection,
    Count,
    CountOrNone,
    Dollars,
    Name,
    Secret,
    Tokens,
    default_of,
    save_changes,
)
from agentsite.models import AppliedValue
from llm_app.models import Budget, LogicalModel
from tasks_app.models import Limits
from tools_app.models import ApprovalMode, RolePolicy, UserPolicy

_SOURCE = "configuration file"


class BudgetSection(ConfigurationSection):
    """The limits of spending. An empty one does not apply."""

    usd_per_task: Dollars | None = None
    usd_per_day: Dollars | None = None
    usd_per_month: Dollars | None = None
    tokens_per_task: Tokens | None = None
    tokens_per_day: Tokens | None = None
    tokens_per_month: Tokens | None = None


class RoleToolsSection(ConfigurationSection):
    """The tools of a role. `approvals` override, by tool, when calls of its members need an approval."""

    allow: list[Name] = []
    deny: list[Name] = []
    approvals: dict[Name, ApprovalMode] = {}


class UserToolsSection(ConfigurationSection):
    deny: list[Name] = []


class RoleSection(ConfigurationSection):
    """A role. People without any role have the rights and limits of the `default` one."""

    name: Name
    default: bool = False
    tools: RoleToolsSection = RoleToolsSection()
    budget: BudgetSection = BudgetSection()


class UserSection(ConfigurationSection):
    username: Annotated[
        str,
        StringConstraints(strip_whitespace=True, pattern=r"^[\w.@+-]+$", max_length=150),
        AfterValidator(AbstractBaseUser.normalize_username),
    ]
    password: Secret | None = None
    roles: list[Name] = []
    api_token: Secret | None = None
    tools: UserToolsSection = UserToolsSection()
    budget: BudgetSection = BudgetSection()


class LimitsSection(ConfigurationSection):
    max_iterations: Count = default_of(Limits, "max_iterations")
    tool_loop_threshold: Count = default_of(Limits, "tool_loop_threshold")
    tool_loop_window: Count = default_of(Limits, "tool_loop_window")
    tool_loop_refusals: Count = default_of(Limits, "tool_loop_refusals")
    no_tool_call_retries: CountOrNone = default_of(Limits, "no_tool_call_retries")
    tool_call_limit: Count | None = None
    handoff_limit: CountOrNone = default_of(Limits, "handoff_limit")
    stale_plan_after: Count = default_of(Limits, "stale_plan_after")
    same_tool_after: Count = default_of(Limits, "same_tool_after")
    budget_reminder_percent: Annotated[Count, Field(le=100)] = default_of(Limits, "budget_reminder_percent")
    result_tokens: Count | None = None
    compact_at_percent: Annotated[Count, Field(ge=10, le=90)] = default_of(Limits, "compact_at_percent")
    tail_percent: Annotated[Count, Field(ge=1, le=40)] = default_of(Limits, "tail_percent")
    approval_hours: Count = default_of(Limits, "approval_hours")
    children: CountOrNone = default_of(Limits, "children")
    children_at_once: Count = default_of(Limits, "children_at_once")
    children_depth: CountOrNone = default_of(Limits, "children_depth")
    children_minutes: Count = default_of(Limits, "children_minutes")
    workspace_bytes: Bytes = default_of(Limits, "workspace_bytes")
    user_bytes: Bytes = default_of(Limits, "user_bytes")
    user_sessions: Count = default_of(Limits, "user_sessions")
    title_model: Name | None = None
    history_bytes: Bytes = default_of(Limits, "history_bytes")
    history_changes: Count = default_of(Limits, "history_changes")
    history_days: Count = default_of(Limits, "history_days")
    budget: BudgetSection = BudgetSection()


def apply_roles(roles: Sequence[RoleSection]) -> Iterator[str]:
    for item in roles:
        group = Group.objects.filter(name=item.name).first() or Group(name=item.name)
        yield from save_changes(group, {}, f"role {item.name}")
        if values := item.tools.values_in_file():
            row = RolePolicy.objects.filter(role=group).first() or RolePolicy(role=group)
            yield from save_changes(row, values, f"tools of role {item.name}")
        if "default" in item.model_fields_set:
            yield from _set_default_role(group, is_default=item.default)
        yield from _apply_budget(item.budget, f"budget of role {item.name}", role=group)


def _set_default_role(group: Group, *, is_default: bool) -> Iterator[str]:
    if is_default == User.default_role().filter(pk=group.pk).exists():
        return
    RolePolicy.objects.filter(is_default=True).update(is_default=False)
    RolePolicy.objects.update_or_create(role=group, defaults={"is_default": is_default})
    yield f"role {group}: is {'' if is_default else 'no longer '}the default role"


def apply_users(users: Sequence[UserSection]) -> Iterator[str]:
    for item in users:
        user = User.objects.filter(username=item.username).first()
        if user is None:
            user = User.objects.create_user(item.username)
            yield f"user {item.username}: created"
        changes = [*_set_password(user, item), *_set_token(user, item), *_set_roles(user, item)]
        if changes:
            yield f"user {item.username}: {', '.join(changes)}"
        if values := item.tools.values_in_file():
            policy = UserPolicy.objects.filter(user=user).first() or UserPolicy(user=user)
            yield from save_changes(policy, values, f"tools of user {item.username}")
        yield from _apply_budget(item.budget, f"budget of user {item.username}", user=user)


def _set_password(user: User, item: UserSection) -> Iterator[str]:
    """Set the password only if the value in the file is new, so that a later change by the user stays."""
    if item.password and _record_if_new(f"password of {user}", item.password.get_secret_value()):
        user.set_password(item.password.get_secret_value())
        user.save(update_fields=["password"])
        yield "password set"


def _set_token(user: User, item: UserSection) -> Iterator[str]:
    """Replace the token that the file set before. Other tokens stay."""
    if item.api_token and _record_if_new(f"api_token of {user}", item.api_token.get_secret_value()):
        ApiToken.objects.set_value(user, item.api_token.get_secret_value(), _SOURCE)
        yield "api_token set"


def _set_roles(user: User, item: UserSection) -> Iterator[str]:
    names = set(item.roles)
    present = set(user.groups.values_list("name", flat=True))
    if "roles" in item.model_fields_set and names != present:
        user.groups.set(Group.objects.filter(name__in=names))
        yield f"roles [{', '.join(sorted(present))}] → [{', '.join(sorted(names))}]"


def _record_if_new(name: str, value: str) -> bool:
    if not AppliedValue.objects.is_new(name, value):
        return False
    AppliedValue.objects.remember(name, value)
    return True


def apply_limits(limits: LimitsSection) -> Iterator[str]:
    if values := limits.values_in_file("budget"):
        if "title_model" in values:
            values["title_model"] = LogicalModel.objects.filter(name=values["title_model"]).first()
        yield from save_changes(Limits.objects.first() or Limits(pk=1), values, "limits")
    yield from _apply_budget(limits.budget, "budget of this server")


def _apply_budget(budget: BudgetSection, label: str, user: Any = None, role: Any = None) -> Iterator[str]:
    """Set the budget of a user, of a role, or of the server."""
    if values := budget.values_in_file():
        row = Budget.objects.filter(user=user, role=role).first() or Budget(user=user, role=role)
        yield from save_changes(row, values, label)
