"""Plugins: entry points of the group `agentsite.tools`, each a module that registers one or more tools."""

import logging
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from tools_app.contract import registry

logger = logging.getLogger(__name__)
GROUP = "agentsite.tools"
_faults: dict[str, str] = {}


def load() -> None:
    """Import all plugins. Built-in tools are registered first, so no plugin can take their names."""
    _faults.clear()
    for point in entry_points(group=GROUP):
        try:
            _load(point)
        except (Exception, SystemExit) as error:  # a plugin can fail in any way, and must not stop the server
            logger.exception("the tool %s could not be loaded", point.name)
            _faults[point.name] = f"{type(error).__name__}: {error}"[:500]


def faults() -> Mapping[str, str]:
    """Return the reasons why plugins could not be loaded, by the name of the entry point."""
    return _faults


def _load(point: EntryPoint) -> None:
    """Register all tools of the plugin, or none."""
    with registry.all_or_nothing() as added:
        point.load()
        if not added():
            raise ValueError(f"{point.value} registers no tool, or its module was imported before")
