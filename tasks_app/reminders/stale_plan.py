"""Before a step, when a plan with open steps was not touched for many replies; again after as many."""

from collections.abc import Mapping, Sequence

from tasks_app.record.draft import Draft, reminder


def stale_plan(plan: Sequence[Mapping[str, str]], replies: int) -> Draft:
    steps = "\n".join(f"- {step['title']} ({step['status']})" for step in plan if step["status"] != "done")
    text = (
        f"Your plan was not touched for {replies} replies. The person sees it beside the chat; these steps are open:\n"
        f"{steps}\nIf a step is done, advance the plan; if the way has changed, update it; if it still holds, go on."
    )
    return reminder(text, "stale_plan")
