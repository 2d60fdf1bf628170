"""Before a step, when other tools are there than in the last request, whatever the reason."""

from collections.abc import Sequence

from tasks_app.record.draft import Draft, reminder


def tool_list(before: Sequence[str], now: Sequence[str]) -> Draft | None:
    """Says what came and what went; an order means nothing."""
    gone, came = _named(set(before) - set(now)), _named(set(now) - set(before))
    if not gone and not came:
        return None
    changes = [f"New: {came}."] if came else []
    changes += [f"No longer there: {gone}. Do not try to reach by other ways what they did."] if gone else []
    return reminder(f"Your tools have changed. {' '.join(changes)}", "tool_list")


def _named(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
