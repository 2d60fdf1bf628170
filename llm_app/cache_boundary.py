"""The cache marker: what comes before it in a system prompt stays the same from task to task."""

MARKER = "\u2063\u200b\u2063"  # zero-width: invisible if it is ever shown


def split_at_marker(system: str) -> tuple[str, str]:
    """The stable and the dynamic part of a system prompt; the second may be empty."""
    stable, _, dynamic = system.partition(MARKER)
    return stable, dynamic.replace(MARKER, "")


def without_marker(system: str) -> str:
    return system.replace(MARKER, "")
