"""The tool `handoff`, which hands the conversation on to another agent until that agent answers."""

from typing import Any

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, ToolVisibility, tool
from tools_app.contract.effects import HandoffRefused, HandOn
from tools_app.errors import ToolError


class HandoffArguments(Arguments):
    agent: str = Field(min_length=1, max_length=100, description="Its name.")
    note: str = Field(
        min_length=1,
        max_length=8000,
        description="What it needs to know beside the conversation, which it sees: what is done, what you leave to it.",
    )


def _with_agents(parameters: dict[str, Any], visibility: ToolVisibility) -> dict[str, Any]:
    """Add the names and descriptions of the agents. They are in the schema, so that they cost nothing
    without the tool.
    """
    agents = "; ".join(f"{name}: {about}" if about else name for name, about in visibility.handoffs)
    agent = {"type": "string", "enum": [name for name, _ in visibility.handoffs], "description": f"One of: {agents}"}
    return {**parameters, "properties": {**parameters["properties"], "agent": agent}}


@tool(
    name="handoff",
    description="""Hands the conversation on to another agent, which takes it over in your place: it goes on and answers
    the person. Do it where the task is more that agent's than yours, not to ask it something.""",
    arguments=HandoffArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="handoff to {agent}: {note}",
    visible=lambda visibility: bool(visibility.handoffs),
    extended=_with_agents,
)
async def handoff(arguments: HandoffArguments, context: ToolContext) -> ToolResult:
    handoffs = context.handoffs
    if arguments.agent not in handoffs.agents:
        raise ToolError(f"There is no agent {arguments.agent!r} to hand on to, only {', '.join(handoffs.agents)}.")
    if handoffs.remaining <= 0:
        content = (
            "Not handed on: this task has gone from agent to agent as often as it may. Finish it yourself: answer with "
            "what there is, and say in the result what is missing."
        )
        return ToolResult(content=content, status="failed", effects=[HandoffRefused()])
    effect = HandOn(sender=handoffs.sender, agent=arguments.agent, note=arguments.note)
    return ToolResult(content=f"Handed on to {arguments.agent}.", effects=[effect])
