"""Reminders about a reply that is not exactly one tool call."""

from collections.abc import Sequence

from tasks_app.record.draft import Draft, reminder


def missing_call(left: int) -> Draft:
    """After a reply without a tool call.

    `left` is how many more such replies get a reminder.
    """
    more = f"{left} more such replies and the task fails." if left else "The next such reply ends the task as failed."
    text = (
        "Your reply contained no tool call, so nothing happened and the person saw nothing of it. Every reply must "
        "contain exactly one tool call. To speak to the person call `message`; to hand over the final answer call "
        f'`message` with type "result". {more}'
    )
    return reminder(text, "missing_call")


def unreadable_call(reason: str) -> Draft:
    """After a reply whose tool call could not be read."""
    text = f"Your tool call could not be read, so nothing ran: {reason} Send the whole call again, once."
    return reminder(text, "unreadable_call")


def deferred(calls: Sequence[str]) -> list[Draft]:
    """Right after the result of the first of several calls in one reply.

    `calls` are the others, verbatim; without any, there is no reminder.
    """
    if not calls:
        return []
    listing = "\n".join(f"- {call}" for call in calls)
    text = (
        "Only the first tool call of your reply was run. These were not run; call them again, one a reply, "
        f"if they are still needed after the result above:\n{listing}"
    )
    return [reminder(text, "deferred")]
