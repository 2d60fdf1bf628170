"""Before a step, when most of a budget that binds the task is spent; once a task."""

from collections.abc import Sequence

from llm_app.budgets.standing import Standing
from tasks_app.record.draft import Draft, reminder


def budget(standings: Sequence[Standing], percent: int) -> Draft | None:
    """Names the limit that is nearest to its end, from `percent` of it on."""
    nearest = max(standings, key=lambda standing: standing.share_spent, default=None)
    if nearest is None or nearest.share_spent * 100 < percent:
        return None
    text = (
        f"{nearest.share_spent:.0%} of the {nearest.limit.words} is spent; when all of it is, the task ends without a "
        "result. Finish what matters most, leave out what is optional, and hand over the result while there is room. "
        "Say in it what you left out."
    )
    return reminder(text, "budget")
