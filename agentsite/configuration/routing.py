"""The section `routing`: rules that remind the agent of what fits a message."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from django.core.exceptions import ValidationError
from pydantic import Field, model_validator

from agentsite.configuration.section import Name, Section, default_of, put
from tasks_app.models import RoutingRule, RuleMatch, RuleTarget


class RuleSection(Section):
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
        row = RoutingRule.objects.filter(name=item.name).first() or RoutingRule(name=item.name)
        values = item.given("name")
        for name in ("match", "target"):
            if name in values:
                values[name] = values[name].value
        yield from put(row, values, f"routing rule {item.name}")
