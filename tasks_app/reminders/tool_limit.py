"""Before a step, when the task has made all its tool calls: from then on only `message` is there."""

from tasks_app.record.draft import Draft, reminder


def tool_limit(calls: int) -> Draft:
    text = (
        f"This task has made its {calls} tool calls, and no tool but `message` is left. Answer now from what you know, "
        'with `message` of type "result". Say what is certain, what you could not check, and what is still to be done.'
    )
    return reminder(text, "tool_limit")
