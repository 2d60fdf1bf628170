"""Third-party packages that others import where they are installed, and that a process may never use.

They come with litellm, aiohttp or the database of a team. A third of a second and 20 MiB of each start went to them.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

WITH_APPS = ("jinja2", "requests", "pygments")  # test helpers and pages of Django and Django REST framework
WITH_CELERY = ("greenlet", "cffi")  # Playwright's, and cryptography's: here a task has a thread
WITH_TWISTED = ("OpenSSL", "h2")  # TLS and HTTP/2 are the business of the proxy in front


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """While it lasts, whoever tries to import one of the packages is told that it is not installed.

    What was imported before stays, and whoever imports it afterwards gets it.
    """
    hidden = [package for package in packages if package not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: Python's own way to say so
    try:
        yield
    finally:
        for package in hidden:
            sys.modules.pop(package, None)


@contextmanager
def on_first_call(module: str, *names: str) -> Iterator[None]:
    """While it lasts, whoever imports the names gets stand-ins, which import the module when they are called."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = stand_in = ModuleType(module)
    for name in names:
        setattr(stand_in, name, partial(_call, module, name))
    try:
        yield
    finally:
        del sys.modules[module]


def _call(module: str, name: str, *arguments: Any, **named: Any) -> Any:
    return getattr(importlib.import_module(module), name)(*arguments, **named)
