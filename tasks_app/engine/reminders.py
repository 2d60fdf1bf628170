"""What the engine says to the model: each text once, here. They are entries like any other."""

from collections.abc import Sequence
from datetime import datetime

from tasks_app.engine.draft import Draft, reminder


def task_start(now: datetime, listing: str) -> Draft:
    """Right after the message that starts a task: what depends on the day and on the workspace."""
    text = f"Today is {now:%A, %Y-%m-%d}. The workspace (/workspace) holds:\n{listing}"
    return reminder(text, "task_start")


def missing_call(left: int) -> Draft:
    more = f"{left} more such replies and the task fails." if left else "The next such reply ends the task as failed."
    text = (
        "Your reply contained no tool call, so nothing happened and the person saw nothing of it. Every reply must "
        "contain exactly one tool call. To speak to the person call `message`; to hand over the final answer call "
        f'`message` with type "result". {more}'
    )
    return reminder(text, "missing_call")


def unreadable_call(reason: str) -> Draft:
    text = f"Your tool call could not be read, so nothing ran: {reason} Send the whole call again, once."
    return reminder(text, "unreadable_call")


def deferred(names: Sequence[str]) -> Draft:
    """After the result of the first of several calls; the calls are named verbatim."""
    listing = "\n".join(f"- {name}" for name in names)
    text = (
        "Only the first tool call of your reply was run. These were not run; call them again, one a reply, "
        f"if they are still needed:\n{listing}"
    )
    return reminder(text, "deferred")


def loop(name: str, times: int) -> Draft:
    text = (
        f"You have called `{name}` with the same arguments {times} times and it will not give another result. You are "
        "in a loop. Try another way: other arguments, another tool, or tell the person what is in the way."
    )
    return reminder(text, "loop")
