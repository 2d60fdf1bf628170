"""Choosing tools by name: those that this server has, and those that a row already names."""

from collections.abc import Iterable

from tools_app import registry


def choices(stored: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Also names of tools that are gone for the moment, so that saving a form does not lose them."""
    present = {tool.name for tool in registry.all_tools()}
    return [(name, name if name in present else f"{name} (not here now)") for name in sorted(present.union(stored))]
