"""The cache marker in system prompts: the text before it stays the same from task to task."""

MARKER = "\u2063\u200b\u2063"  # zero-width characters: invisible if they are ever displayed


def split_at_marker(system: str) -> tuple[str, str]:
    """Return the stable and the dynamic part of a system prompt. The dynamic part may be empty."""
    stable, _, dynamic = system.partition(MARKER)
    return stable, dynamic.replace(MARKER, "")


def without_marker(system: str) -> str:
    return system.replace(MARKER, "")
