"""After a reply whose tool call could not be read."""

from tasks_app.record.draft import Draft, reminder


def unreadable_call(reason: str) -> Draft:
    text = f"Your tool call could not be read, so nothing ran: {reason} Send the whole call again, once."
    return reminder(text, "unreadable_call")
