"""When the cut moves and the agent wants a summary: what a model made of the entries that go out of sight."""

from tasks_app.record.draft import Draft, reminder


def summary(first: int, last: int, words: str) -> Draft:
    """Of the entries from `first` to `last`."""
    text = (
        f"Of the entries {first} to {last} you see only an outline from here on. A model has summed them up; what "
        f"matters, check (`recall` gives back what stands under a number):\n{words}"
    )
    return reminder(text, "summary")
