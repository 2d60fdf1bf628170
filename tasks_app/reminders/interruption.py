"""Right after a message of the person that ended what the agent was doing."""

from tasks_app.record.draft import Draft, reminder


def interruption(what: str) -> Draft:
    """`what` is the work that it ended, in a few words."""
    text = (
        f"The message above came while you were at work and ended {what}. It goes first: it may change the task, add "
        "to it, or only ask something. Then go on with what still matters of the earlier work; look at what is there "
        "before you do something again."
    )
    return reminder(text, "interruption")
