"""The whole system prompt of an agent, section by section, as it would be sent now: for administrators."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from llm_app.types import ToolMode
from tasks_app.engine.capabilities.skills import catalogue
from tasks_app.engine.prompt.build import inputs_of
from tasks_app.engine.prompt.sections import DYNAMIC, STABLE, section
from tasks_app.models import Agent, PromptSection
from tasks_app.workspaces import sandbox
from tools_app.contract.visibility import ToolVisibility
from tools_app.policy import policy_for


@dataclass(frozen=True, kw_only=True)
class PreviewedSection:
    """`version` is what an administrator wrote, where the section is not the one that ships."""

    name: str
    text: str
    version: PromptSection | None


def preview(agent: Agent, person: Any, mode: ToolMode = ToolMode.NATIVE) -> Sequence[PreviewedSection]:
    """As a task of `person` would have it. In a mode without a field for tools, their list is left out here."""
    versions = PromptSection.objects.in_force(agent)
    policy = policy_for(person.pk, denied=agent.denied_tools, safe_only=agent.safe_mode)
    inputs = replace(
        inputs_of(person, policy, ToolVisibility(skills=catalogue(person.pk)), sandbox().name),
        mode=mode,
        functions="(the tools, one a line)",
        own=tuple((name, version.text) for name, version in versions.items()),
    )
    found = [(name, section(name, inputs)) for name in (*STABLE, *DYNAMIC)]
    return [PreviewedSection(name=name, text=text, version=versions.get(name)) for name, text in found if text]
