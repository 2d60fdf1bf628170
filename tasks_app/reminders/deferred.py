"""Right after the result of the first of several calls in one reply."""

from collections.abc import Sequence

from tasks_app.record.draft import Draft, reminder


def deferred(names: Sequence[str]) -> Draft:
    """The calls that were not run, verbatim."""
    listing = "\n".join(f"- {name}" for name in names)
    text = (
        "Only the first tool call of your reply was run. These were not run; call them again, one a reply, "
        f"if they are still needed after the result above:\n{listing}"
    )
    return reminder(text, "deferred")
