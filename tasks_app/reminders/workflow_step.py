"""When a step of a workflow begins: at the task's start, and right after the result that ends the step before it."""

from collections.abc import Mapping
from typing import Any

from tasks_app.models import ContextType
from tasks_app.record.draft import Draft


def workflow_step(workflow: Mapping[str, Any], place: int) -> Draft:
    """`place` counts from 0. The first one also names the whole way."""
    steps = workflow["steps"]
    way = " → ".join(step["title"] for step in steps)
    first = f"This task follows the workflow “{workflow['name']}”: {way}.\n" if place == 0 else ""
    text = (
        f"{first}Step {place + 1} of {len(steps)}: {steps[place]['title']}\n{steps[place]['instructions']}\n"
        'When it is done, call `step` with action "done". If it cannot be done, call it with action "blocked" and say '
        "in `note` what is in the way and what you need; the person answers."
    )
    return Draft(context_type=ContextType.WORKFLOW_STEP, content=text, metadata={"step": place + 1})
