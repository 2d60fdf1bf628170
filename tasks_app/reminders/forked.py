"""At the end of what a session has copied from another one: what the model cannot see there."""

from tasks_app.record.draft import Draft, reminder


def forked(left_out: int) -> Draft:
    """`left_out` is how many files are missing in the copy."""
    text = (
        "Up to here this conversation was copied from another one; from here on it goes its own way. The workspace has "
        "a copy of that one's files as they are now: they may be newer than what was said above, so look before you "
        "rely on one. Pages and programs that were open there are not open here."
    )
    if left_out:
        text += f" {left_out} files or folders were too many or too large to be copied, or are no plain files."
    return reminder(text, "forked")
