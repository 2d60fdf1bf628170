"""Context managers that keep libraries from importing optional packages which this process never uses.

These packages are installed with litellm, aiohttp or the driver of PostgreSQL. They would cost each start a third of
a second and 20 MiB.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

WITH_APPS = ("jinja2", "requests", "pygments")  # test helpers and pages of Django and Django REST framework
WITH_CELERY = ("greenlet", "cffi")  # of Playwright and cryptography: our workers use threads
WITH_TWISTED = ("OpenSSL", "h2")  # the proxy in front handles TLS and HTTP/2


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Make imports of the packages fail in the block, as if they were not installed.

    Packages that were imported earlier stay, and later imports succeed.
    """
    hidden = [package for package in packages if package not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: the import fails
    try:
        yield
    finally:
        for package in hidden:
            sys.modules.pop(package, None)


@contextmanager
def on_first_call(module: str, *names: str) -> Iterator[None]:
    """Replace the names of a module in the block by stand-ins, which import the module when they are called."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = stand_in = ModuleType(module)
    for name in names:
        setattr(stand_in, name, partial(_call_imported, module, name))
    try:
        yield
    finally:
        del sys.modules[module]


def _call_imported(module: str, name: str, *arguments: Any, **named: Any) -> Any:
    return getattr(importlib.import_module(module), name)(*arguments, **named)
