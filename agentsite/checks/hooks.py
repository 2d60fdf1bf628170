"""The plugins around each call: one that cannot be loaded refuses them all."""

from collections.abc import Iterator

from django.conf import settings

from agentsite.checks.messages import Finding, broken, fine
from tools_app.hooks.loading import Broken, plugins

_NAME = "hooks"


def loaded() -> Iterator[Finding]:
    """Nothing where no plugin is installed."""
    found = plugins(tuple(settings.HOOKS))
    if faulty := [hook.name for hook in found if isinstance(hook, Broken)]:
        words = f"{', '.join(faulty)} cannot be loaded, so every call of a tool is refused."
        yield broken(_NAME, words, "The log says why. Mend or uninstall it, or take it out of AGENTSITE_HOOKS.")
    elif found:
        yield fine(_NAME, f"They look at each call: {', '.join(hook.name for hook in found)}.")
