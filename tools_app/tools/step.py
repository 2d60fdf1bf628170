"""The tool `step`, with which the agent moves on in a workflow, or reports that the current step is blocked."""

from typing import Literal

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, WaitForReply, tool
from tools_app.contract.effects import EndStep


class StepArguments(Arguments):
    action: Literal["done", "blocked"] = Field(
        description="done: the current step is finished and checked. blocked: it cannot be done; the person is asked."
    )
    note: str | None = Field(
        None,
        min_length=1,
        max_length=4000,
        description="For done: what came of it, in a sentence. For blocked: what is in the way, and what you need.",
    )

    @model_validator(mode="after")
    def _blocked_says_why(self) -> "StepArguments":
        if self.action == "blocked" and not self.note:
            raise ValueError("note is required for blocked: the person reads it")
        return self


@tool(
    name="step",
    description="""Moves on in the workflow of this task, which the person sees beside the chat. Call it when the
    current step is done and checked, or when it is blocked; the next step then comes by itself.""",
    arguments=StepArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="step ({action}): {note}",
    activity={
        "done": "finished a step",
        "blocked": "asked for help",
    },
    loop_exempt=True,
    visible=lambda visibility: visibility.in_workflow,
)
async def step(arguments: StepArguments, context: ToolContext) -> ToolResult:
    if arguments.action == "blocked":
        return ToolResult(content="", effects=[WaitForReply()])
    remaining = sum(step.status != "done" for step in context.plan) - 1
    if remaining < 0:
        return ToolResult(content="All steps are already done: hand over the result.", status="failed")
    outlook = (
        f"{remaining} more to go."
        if remaining
        else "That was the last one: check everything, then hand over the result."
    )
    return ToolResult(content=f"The step is done. {outlook}", effects=[EndStep()])
