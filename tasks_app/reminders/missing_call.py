"""After a reply without a tool call."""

from tasks_app.record.draft import Draft, reminder


def missing_call(left: int) -> Draft:
    """`left` is how many more such replies get a reminder."""
    more = f"{left} more such replies and the task fails." if left else "The next such reply ends the task as failed."
    text = (
        "Your reply contained no tool call, so nothing happened and the person saw nothing of it. Every reply must "
        "contain exactly one tool call. To speak to the person call `message`; to hand over the final answer call "
        f'`message` with type "result". {more}'
    )
    return reminder(text, "missing_call")
