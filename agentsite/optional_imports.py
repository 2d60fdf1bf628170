"""Third-party packages that others import where they are installed, and that a process may never use.

They come with litellm, aiohttp or the database of a team. A third of a second and 20 MiB of each start went to them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

WITH_APPS = ("jinja2", "requests")  # test helpers of Django and Django REST framework
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
