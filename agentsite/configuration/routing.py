"""The section `routing`: rules that remind the agent of a skill, tool group, agent or workflow for a message."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from django.core.exceptions import ValidationError
from pydantic import Field, model_validator

from agentsite.configuration.section import ConfigurationSection, Name, default_of, save_changes
from agentsite.models import AppliedValue
from tasks_app.models import RoutingRule, RuleMatch, RuleTarget


class RuleSection(ConfigurationSection):
    name: Name
    match: RuleMatch = RuleMatch.WORDS
    pattern: Annotated[str, Field(min_length=1)]
    closeness: Annotated[float, Field(ge=0.1, le=1)] = default_of(RoutingRule, "closeness")
    target: RuleTarget = RuleTarget.NOTHING
    target_name: Annotated[str, Field(max_length=100)] = ""
    text: Annotated[str, Field(max_length=4000)] = ""
    enabled: bool = True

    @model_validator(mode="after")
    def _can_fire(self) -> Self:
        try:
            RoutingRule(**self.model_dump()).clean()
        except ValidationError as error:
            raise ValueError(" ".join(error.messages)) from error
        return self


def apply_routing(rules: Sequence[RuleSection]) -> Iterator[str]:
    for item in rules:
        row = _existing_rule(item) or RoutingRule(name=item.name)
        values = item.values_in_file("name")
        for name in ("match", "target"):
            if name in values:
                values[name] = values[name].value
        yield from save_changes(row, values, f"routing rule {item.name}")


def update_shipped_rules(rules: Sequence[RuleSection]) -> None:
    """Create the shipped rules, and update those that are unchanged since an earlier version.

    Rules of these names that an administrator has changed, deleted or created are left alone.
    """
    for item in rules:
        row, name = _existing_rule(item), f"shipped routing rule {item.name}"
        was_changed = row and AppliedValue.objects.is_new(name, _as_text(row))
        was_deleted = row is None and AppliedValue.objects.filter(name=name).exists()
        if not was_changed and not was_deleted:
            list(apply_routing([item]))
            AppliedValue.objects.remember(name, _as_text(RoutingRule.objects.get(name=item.name)))


def _existing_rule(item: RuleSection) -> RoutingRule | None:
    return RoutingRule.objects.filter(name=item.name).first()


def _as_text(row: RoutingRule) -> str:
    return json.dumps({name: getattr(row, name) for name in RuleSection.model_fields}, default=str, sort_keys=True)
