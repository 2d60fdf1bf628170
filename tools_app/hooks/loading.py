"""The hooks that check a call: plugins from entry points or a setting, and hooks that an agent selects by name."""

import logging
from collections.abc import Callable, Collection, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from tools_app.hooks.base import Call, Hook, HookContext, Refuse
from tools_app.hooks.builtin import BUILTIN, HookSettings

logger = logging.getLogger(__name__)
GROUP = "agentsite.hooks"


class Broken(Hook):
    """A replacement for a hook that could not be loaded. It refuses every call, since nothing has checked it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def before_execution(self, call: Call, around: HookContext) -> Refuse:
        return Refuse(reason="the hook could not be loaded; an administrator finds the reason in the log")


def hooks_for(chosen: Collection[str], settings: HookSettings, paths: tuple[str, ...]) -> list[Hook]:
    """Return the plugins for all calls, then the hooks that an agent has selected by name.

    A selected hook that is not installed is replaced by one that refuses all calls.
    """
    installed = plugins(paths)
    missing = [Broken(name) for name in chosen if name not in BUILTIN and name not in {hook.name for hook in installed}]
    of_plugins = [hook for hook in installed if hook.for_all or hook.name in chosen]
    return [*of_plugins, *missing, *(make(settings) for name, make in BUILTIN.items() if name in chosen)]


def choices(paths: tuple[str, ...]) -> dict[str, str]:
    """Return the hooks that an agent can select, as a mapping of names to descriptions."""
    of_plugins = {hook.name: hook.summary for hook in plugins(paths) if not hook.for_all}
    return {name: make(HookSettings()).summary for name, make in BUILTIN.items()} | of_plugins


@cache
def plugins(paths: tuple[str, ...]) -> tuple[Hook, ...]:
    """Return one instance of each plugin. `paths` are the "package.module.Class" entries of the setting."""
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
    except Exception:  # a plugin can fail in any way
        logger.exception("the hook %s could not be loaded", name)
        return Broken(name)
    if not isinstance(made, Hook):
        logger.error("the hook %s is no tools_app.hooks.base.Hook", name)
        return Broken(name)
    made.name = made.name or name
    return made
