"""The hooks that check a call: plugins from entry points or a setting, and hooks that an agent selects by name."""

import logging
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points

from tools_app.hooks.base import Call, Hook, HookContext, Refuse
from tools_app.hooks.builtin import BUILTIN, HookSettings

logger = logging.getLogger(__name__)
GROUP = "agentsite.hooks"


class BrokenHook(Hook):
    """A replacement for a hook that could not be loaded. It refuses every call, since nothing has checked it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def before_execution(self, call: Call, around: HookContext) -> Refuse:
        return Refuse(reason="the hook could not be loaded; an administrator finds the reason in the log")


def hooks_for(selected: Collection[str], settings: HookSettings, paths: tuple[str, ...]) -> list[Hook]:
    """Return the plugins for all calls, then the hooks that an agent has selected by name.

    A selected hook that is not installed is replaced by one that refuses all calls.
    """
    installed = plugins(paths)
    available_names = BUILTIN.keys() | {hook.name for hook in installed}
    missing = [BrokenHook(name) for name in selected if name not in available_names]
    from_plugins = [hook for hook in installed if hook.for_all or hook.name in selected]
    built_in = [make(settings) for name, make in BUILTIN.items() if name in selected]
    return [*from_plugins, *missing, *built_in]


def choices(paths: tuple[str, ...]) -> dict[str, str]:
    """Return the hooks that an agent can select, as a mapping of names to descriptions."""
    built_in = {name: make(HookSettings()).summary for name, make in BUILTIN.items()}
    return built_in | {hook.name: hook.summary for hook in plugins(paths) if not hook.for_all}


@cache
def plugins(paths: tuple[str, ...]) -> tuple[Hook, ...]:
    """Return one instance of each plugin. `paths` are the "package.module.Class" entries of the setting."""
    return tuple(_loaded(name, load) for name, load in _sources(paths))


def _sources(paths: tuple[str, ...]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each plugin, and a function that loads its class or instance."""
    for point in entry_points(group=GROUP):
        yield point.name, point.load
    for path in paths:
        yield path, partial(_import_object, path)


def _import_object(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _loaded(name: str, load: Callable[[], object]) -> Hook:
    try:
        plugin = load()
        hook = plugin() if isinstance(plugin, type) else plugin
    except Exception:  # a plugin can fail in any way
        logger.exception("could not load the hook %s", name)
        return BrokenHook(name)
    if not isinstance(hook, Hook):
        logger.error("could not load the hook %s: it is not a tools_app.hooks.base.Hook", name)
        return BrokenHook(name)
    hook.name = hook.name or name
    return hook
