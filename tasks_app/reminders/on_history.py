"""Reminders where the model cannot see what the conversation rests on: copied from another session, or cut."""

from tasks_app.record.draft import Draft, reminder


def forked(left_out: int) -> Draft:
    """At the end of what a session has copied from another one: what the model cannot see there.

    `left_out` is how many files are missing in the copy.
    """
    text = (
        "Up to here this conversation was copied from another one; from here on it goes its own way. The workspace has "
        "a copy of that one's files as they are now: they may be newer than what was said above, so look before you "
        "rely on one. Pages and programs that were open there are not open here."
    )
    if left_out:
        text += f" {left_out} files or folders were too many or too large to be copied, or are no plain files."
    return reminder(text, "forked")


def summary(first: int, last: int, words: str) -> Draft:
    """When the cut moves and the agent wants a summary: what a model made of the entries that go out of sight.

    These are the entries from `first` to `last`.
    """
    text = (
        f"Of the entries {first} to {last} you see only an outline from here on. A model has summed them up; what "
        f"matters, check (`recall` gives back what stands under a number):\n{words}"
    )
    return reminder(text, "summary")
