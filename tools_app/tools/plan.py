"""The tool `plan`, for the plan next to the chat."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Synonyms, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import PlanStep, SetPlan, StepStatus
from tools_app.errors import ToolError

NAME = "plan"
_MARKS: Mapping[StepStatus, str] = {"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}


class Step(Arguments):
    title: str = Field(min_length=1, max_length=200, description="In a few words.")
    status: StepStatus = Field("pending", description="How far it is.")


class PlanArguments(Arguments):
    action: Literal["update", "advance"] = Field(
        description="update: set the plan, also when the way changes. advance: the current step is done, the next "
        "begins."
    )
    steps: list[Step] | None = Field(None, max_length=30, description="For update: all steps, in order.")

    @model_validator(mode="after")
    def _update_has_steps(self) -> "PlanArguments":
        if (self.action == "update") != bool(self.steps):
            raise ValueError("steps are required for update, and only for update")
        return self


_STEP_WORDS = dict.fromkeys(("content", "step", "text", "name", "description", "task"), "title")
_STEP_EXTRAS = ("id", "priority", "activeForm")  # fields of other harnesses' lists of work
_STATUS_WORDS = {"completed": "done", "complete": "done", "todo": "pending", "active": "in_progress"}
_STATUS_WORDS |= {"in progress": "in_progress", "in-progress": "in_progress", "inprogress": "in_progress"}


def _fitted(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the action that steps imply, and each step as an object with our words."""
    steps = values.get("steps")
    if not isinstance(steps, list) or not steps:
        return values
    return {"action": "update", **values, "steps": [_fitted_step(step) for step in steps]}


def _fitted_step(step: Any) -> Any:
    if isinstance(step, str):
        return {"title": step}
    if not isinstance(step, dict):
        return step
    known = {_STEP_WORDS.get(name, name): value for name, value in step.items() if name not in _STEP_EXTRAS}
    status = known.get("status")
    return known | ({"status": _STATUS_WORDS.get(status, status)} if isinstance(status, str) else {})


@tool(
    name=NAME,
    description="Keeps the plan that the person sees beside the chat.",
    arguments=PlanArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="plan {action}[: {steps}]",
    activity={
        "update": "planned the work",
        "advance": "went on in the plan",
    },
    visible=lambda visibility: not visibility.in_workflow,
    synonyms=Synonyms(
        arguments=dict.fromkeys(("todos", "plan", "items", "tasks"), "steps"),
        values={
            "action": {"set": "update", "create": "update", "write": "update", "next": "advance", "done": "advance"}
        },
        fitted=_fitted,
    ),
)
def plan(arguments: PlanArguments, context: ToolContext) -> ToolResult:
    if arguments.steps:
        steps = [PlanStep(title=step.title, status=step.status) for step in arguments.steps]
    else:
        steps = advanced(context.plan)
    lines = lines_of(steps)
    if any(step.status != "done" for step in steps):
        lines.append("To go on in it, add plan_step, the number of the step that begins, to any other call.")
    content = "\n".join(lines) or "The plan is empty: set it with update."
    return ToolResult(content=content, effects=[SetPlan(steps=steps)])


def lines_of(steps: Sequence[PlanStep]) -> list[str]:
    return [f"{_MARKS[step.status]} {step.title}" for step in steps]


def steps_in(lines: Iterable[str]) -> list[PlanStep]:
    """Return the steps in the lines of a result of `plan`."""
    statuses = {mark: status for status, mark in _MARKS.items()}
    return [PlanStep(title=line[4:], status=statuses[line[:3]]) for line in lines if line[:3] in statuses]


def begun(steps: Sequence[PlanStep], named: Any) -> list[PlanStep]:
    """Return the plan with a step in progress, by its number or title, and those before it done.

    The number after the last step means that all are done.

    Raises: ToolError.
    """
    titles = [step.title.casefold() for step in steps]
    text = str(named).strip()
    number = int(text) if re.fullmatch("[0-9]{1,3}", text) else 0
    if text.casefold() in titles:
        number = titles.index(text.casefold()) + 1
    if not steps or not 1 <= number <= len(steps) + 1:
        raise ToolError(f"it has {len(steps)} steps" if steps else "there is none")
    return [
        PlanStep(title=step.title, status=_status_when_begun(step, position - number))
        for position, step in enumerate(steps, 1)
    ]


def _status_when_begun(step: PlanStep, distance: int) -> StepStatus:
    """Return a step's status when the step so many places before it begins."""
    if distance == 0:
        return "in_progress"
    return "done" if distance < 0 or step.status == "done" else "pending"


def advanced(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return the plan with the first open step done and the next one in progress."""
    open_indices = [index for index, step in enumerate(steps) if step.status != "done"]
    new_status: dict[int, StepStatus] = dict(zip(open_indices, ("done", "in_progress"), strict=False))
    return [PlanStep(title=step.title, status=new_status.get(index, step.status)) for index, step in enumerate(steps)]
