"""Agents and workflows in the configuration file: saved by name, with a version for each change of a section."""

import pytest

from agentsite.configuration import ConfigurationError
from tasks_app.models import Agent, AgentVersion, Limits, PromptSection, Workflow
from tests import factories

FILE = """
    agents:
      - name: Clerk
        description: Files things.
        default: true
        model: careful
        denied_tools: [shell]
        sections: {identity: You are a clerk., browser: Click little.}
    workflows:
      - name: Release
        steps:
          - {title: Look, instructions: Look at it.}
          - {title: Build, instructions: Build it.}
"""


def test_agents_and_workflows_are_applied_once(configure):
    factories.LogicalModelFactory(name="careful")
    assert configure(FILE)
    agent = Agent.objects.default()
    assert (agent.name, agent.model.name, agent.denied_tools) == ("Clerk", "careful", ["shell"])
    assert dict(PromptSection.objects.texts_of(agent))["identity"] == "You are a clerk."
    assert [step["title"] for step in Workflow.objects.get().definition()["steps"]] == ["Look", "Build"]
    assert configure(FILE) == []


def test_changed_texts_are_new_versions_and_changed_steps_replace_old_ones(configure):
    factories.LogicalModelFactory(name="careful")
    configure(FILE)
    changed = FILE.replace("a clerk", "a baker").replace("Build", "Bake").replace("default: true", "default: false")
    assert configure(changed) == [
        "agent Clerk: a new version of the section identity",
        "agent Clerk: is no longer the default agent",
        "workflow Release: 2 steps",
    ]
    assert PromptSection.objects.filter(section="identity").count() == 2
    assert [step["title"] for step in Workflow.objects.get().definition()["steps"]] == ["Look", "Bake"]
    assert configure("agents: [{name: Clerk, sections: {identity: ''}}]")
    assert "identity" not in dict(PromptSection.objects.texts_of(Agent.objects.get()))


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("agents: [{name: A, model: none}]", "there is no model called 'none'"),
        ("agents: [{name: A}, {name: A}]", "the same name"),
        ("agents: [{name: A, sections: {tools: x}}]", "no section called 'tools'"),
        ("workflows: [{name: W, steps: [{title: x}]}]", "instructions"),
    ],
)
def test_mistakes_of_agents_are_reported(configure, text, mistake):
    with pytest.raises(ConfigurationError, match=mistake):
        configure(text)


def test_file_sets_limits_of_reminders(configure):
    configure("limits: {tool_call_limit: 30, stale_plan_after: 5, budget_reminder_percent: 50}")
    limits = Limits.current()
    assert (limits.tool_call_limit, limits.stale_plan_after, limits.budget_reminder_percent) == (30, 5, 50)


def test_environment_must_be_a_folder(configure):
    configure("agents: [{name: Clerk, environments: [/usr]}]")
    assert Agent.objects.get().environments == ["/usr"]
    with pytest.raises(ConfigurationError, match="folder bin"):
        configure("agents: [{name: Clerk, environments: [/nowhere/at/all]}]")


def test_agents_of_one_file_can_hand_off_to_each_other(configure):
    file = "agents: [{name: A, handoffs: [B]}, {name: B, handoffs: [A]}]"
    assert "agent A: handoffs [] → [B]" in configure(file)
    assert [agent.handoffs.get().name for agent in Agent.objects.order_by("name")] == ["B", "A"]
    assert configure(file) == []
    assert AgentVersion.objects.count() == 2
    with pytest.raises(ConfigurationError, match="there is no agent called 'C'"):
        configure("agents: [{name: A, handoffs: [C]}]")
    assert configure("agents: [{name: A, handoffs: []}]") == ["agent A: handoffs [B] → []"]
    assert AgentVersion.objects.filter(agent__name="A").first().note == "From the configuration file."
