"""The tool `delegate`, which gives parts of a task to other agents, and tools that each stand for one agent."""

import re
from functools import cache
from typing import Any

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolDefinition, ToolResult, ToolVisibility, tool
from tools_app.contract.capabilities import Delegation
from tools_app.contract.effects import Delegate, DelegatedTask
from tools_app.errors import ToolError
from tools_app.json_schema.external import schema_text

NAME = "delegate"
_INVALID_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9]+")


class DelegatedPart(Arguments):
    instruction: str = Field(min_length=1, description="All that it needs to know: it sees nothing else.")
    agent: str | None = Field(None, description="Who works on it; default: an agent like you.")
    tools: list[str] | None = Field(None, description="Its only tools; default: yours.")
    output_schema: Any = Field(None, description="JSON Schema of its data.")


class DelegateArguments(Arguments):
    tasks: list[DelegatedPart] = Field(min_length=1, description="Independent parts.")
    max_parallel: int | None = Field(None, ge=1, description="How many at once.")


def _with_agents(parameters: dict[str, Any], visibility: ToolVisibility) -> dict[str, Any]:
    """Add the names of the available agents. If there are none, remove the argument."""
    part = parameters["properties"]["tasks"]["items"]
    properties = dict(part["properties"])
    if visibility.agents:
        agents = "; ".join(f"{name}: {about}" if about else name for name, about in visibility.agents)
        description = f"{properties['agent']['description']} There are {agents}."
        properties["agent"] = {**properties["agent"], "description": description}
    else:
        del properties["agent"]
    tasks = {**parameters["properties"]["tasks"], "items": {**part, "properties": properties}}
    return {**parameters, "properties": {**parameters["properties"], "tasks": tasks}}


@tool(
    name=NAME,
    description="""Has agents work on large independent parts of your task at the same time, and returns all results.
    Each writes into children/N/.""",
    arguments=DelegateArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="delegate {tasks}",
    activity={"": "delegated {#tasks}|delegated tasks # times"},
    visible=lambda visibility: visibility.may_delegate,
    listed=lambda visibility: visibility.shows_delegate,
    extended=_with_agents,
)
async def delegate(arguments: DelegateArguments, context: ToolContext) -> ToolResult:
    parts = [
        DelegatedTask(
            instruction=part.instruction,
            agent=part.agent or "",
            tools=part.tools,
            output_schema="" if part.output_schema is None else schema_text(part.output_schema),
        )
        for part in arguments.tasks
    ]
    for number, part in enumerate(parts, 1):
        if objection := _objection(part, context.delegation):
            raise ToolError(f"Nothing was delegated: task {number} {objection}")
    return _delegated(parts, context.delegation, arguments.max_parallel)


def _objection(part: DelegatedTask, delegation: Delegation) -> str:
    """Return why this part cannot be delegated, or ""."""
    if part.agent and part.agent not in delegation.agents:
        agents = ", ".join(sorted(delegation.agents)) or "none"
        return f"names the agent {part.agent!r}, which does not exist. The agents are: {agents}."
    if unknown := set(part.tools or ()) - delegation.tools:
        return f"names tools that you do not have: {', '.join(sorted(unknown))}."
    return ""


def _delegated(parts: list[DelegatedTask], delegation: Delegation, max_parallel: int | None = None) -> ToolResult:
    if len(parts) > delegation.max_tasks:
        raise ToolError(
            f"Nothing was delegated: {len(parts)} tasks are more than may still be delegated ({delegation.max_tasks}). "
            "Do it yourself, or give several parts to one."
        )
    return ToolResult(content="", effects=[Delegate(tasks=parts, max_parallel=max_parallel)])


class AskArguments(Arguments):
    instruction: str = Field(min_length=1, description="All that it needs to know: it does not see this conversation.")


@cache
def agent_tool(agent: str, description: str) -> ToolDefinition:
    """Return a tool for one agent. Cached, so that an unchanged tool list is the same object."""

    async def ask(arguments: AskArguments, context: ToolContext) -> ToolResult:
        return _delegated([DelegatedTask(instruction=arguments.instruction, agent=agent)], context.delegation)

    return ToolDefinition(
        name=f"ask_{_INVALID_NAME_CHARACTERS.sub('_', agent).strip('_')}"[:64],
        description=f"Gives a task to the agent {agent} and returns its result. {description}".strip(),
        arguments=AskArguments,
        handler=ask,
        danger=Danger.SAFE,
        target=Target.ENGINE,
        compact_template=f"ask {agent}: {{instruction}}",
        visible=lambda visibility: visibility.may_delegate,
    )
