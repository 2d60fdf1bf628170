"""The plugins that this installation has: entry points of the group `agentsite.hooks`, and those of a setting."""

import logging
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from tools_app.hooks.base import Call, Hook, HookContext, Refuse

logger = logging.getLogger(__name__)
GROUP = "agentsite.hooks"


class Broken(Hook):
    """Stands for a plugin that could not be loaded: without it, nobody has looked at the call."""

    def __init__(self, name: str) -> None:
        self.name = name

    def before_execution(self, call: Call, around: HookContext) -> Refuse:
        return Refuse(reason="the hook could not be loaded; an administrator finds the reason in the log")


@cache
def plugins(paths: tuple[str, ...]) -> tuple[Hook, ...]:
    """One of each, made at its first use. `paths` are those of the setting, as "package.module.Class"."""
    return tuple(_made(name, load) for name, load in _named(paths))


def _named(paths: tuple[str, ...]) -> Iterator[tuple[str, Callable[[], object]]]:
    for point in entry_points(group=GROUP):
        yield point.name, point.load
    for path in paths:
        yield path, lambda path=path: _imported(path)  # type: ignore[misc]


def _imported(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _made(name: str, load: Callable[[], object]) -> Hook:
    try:
        hook = load()
        made = hook() if isinstance(hook, type) else hook
    except Exception:  # a plugin may fail in any way
        logger.exception("the hook %s could not be loaded", name)
        return Broken(name)
    if not isinstance(made, Hook):
        logger.error("the hook %s is no tools_app.hooks.base.Hook", name)
        return Broken(name)
    made.name = made.name or name
    return made
