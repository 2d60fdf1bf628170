"""Tasks with a workflow: its steps are the plan of the task, and the engine advances them."""

from dataclasses import replace
from typing import Any

from tasks_app.models import Task
from tasks_app.record import Draft
from tasks_app.record.entry_json import plan_change
from tasks_app.run.reminders.before_step import current_index, workflow_step


def first_step(task: Task) -> tuple[list[Draft], dict[str, Any]]:
    """Return the entry of the first step and the task's plan; nothing for a task without a workflow."""
    if not task.workflow:
        return [], {}
    plan = [{"title": step["title"], "status": "pending"} for step in task.workflow["steps"]]
    (first,), fields = _begin_step(task, plan, 0)
    return [replace(first, metadata={**first.metadata, "plan": plan_change([], fields["plan"])})], fields


def next_step(task: Task) -> tuple[list[Draft], dict[str, Any]]:
    """Return the entry of the step after the current one, if any, and the new plan."""
    current = current_index(task)
    if current is None:
        return [], {}
    plan = [{**step, "status": "done"} if index == current else step for index, step in enumerate(task.plan)]
    return _begin_step(task, plan, current + 1)


def refusal_of_result(task: Task) -> str:
    """Return the reason why a result is refused, which lists the open steps, or ''."""
    open_steps = [step["title"] for step in task.plan if step["status"] != "done"] if task.workflow else []
    if not open_steps:
        return ""
    return (
        f"Not sent: the workflow “{task.workflow['name']}” is not at its end. Open steps: {', '.join(open_steps)}. "
        'Do the current one and call `step` with action "done"; if it cannot be done, call it with action "blocked" '
        "and say in `note` what is in the way."
    )


def _begin_step(task: Task, plan: list[dict[str, str]], index: int) -> tuple[list[Draft], dict[str, Any]]:
    if index == len(plan):
        return [], {"plan": plan}
    plan[index] = {**plan[index], "status": "in_progress"}
    return [workflow_step(task.workflow, index)], {"plan": plan}
