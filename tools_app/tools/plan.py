"""The tool `plan`, for the plan next to the chat."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import PlanStep, SetPlan, StepStatus


class Step(Arguments):
    title: str = Field(min_length=1, max_length=200, description="What is done in it, in a few words.")
    status: StepStatus = Field("pending", description="How far it is.")


class PlanArguments(Arguments):
    action: Literal["update", "advance"] = Field(
        description="update: set the whole plan, at the beginning or when the way changes. advance: the "
        "current step is done, the next one begins."
    )
    steps: list[Step] | None = Field(None, max_length=30, description="For update: all steps, in order.")

    @model_validator(mode="after")
    def _update_has_steps(self) -> "PlanArguments":
        if (self.action == "update") != bool(self.steps):
            raise ValueError("steps are required for update, and only for update")
        return self


@tool(
    name="plan",
    description="""Keeps the plan that the person sees beside the chat, for work of more than two steps.""",
    arguments=PlanArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="plan {action}[: {steps}]",
    activity={
        "update": "planned the work",
        "advance": "went on in the plan",
    },
    visible=lambda visibility: not visibility.in_workflow,
)
def plan(arguments: PlanArguments, context: ToolContext) -> ToolResult:
    if arguments.steps:
        steps = [PlanStep(title=step.title, status=step.status) for step in arguments.steps]
    else:
        steps = advanced(context.plan)
    marks = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}
    lines = [f"{marks[step.status]} {step.title}" for step in steps]
    content = "\n".join(lines) or "The plan is empty: set it with update."
    return ToolResult(content=content, effects=[SetPlan(steps=steps)])


def advanced(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return the plan with the first open step done and the next one in progress."""
    open_indices = [index for index, step in enumerate(steps) if step.status != "done"]
    new_status: dict[int, StepStatus] = dict(zip(open_indices, ("done", "in_progress"), strict=False))
    return [PlanStep(title=step.title, status=new_status.get(index, step.status)) for index, step in enumerate(steps)]
