import ctypes
import gc
import importlib
from contextlib import suppress

from django.apps import AppConfig
from django.db import connection

from agentsite.optional_imports import WITH_APPS, on_first_call, without

GC_THRESHOLD = 10_000  # threshold of the first generation: of Python's default, 700 objects, most are still in use
MAX_HEAPS = 2  # glibc would make up to eight per core, and memory that one thread frees is not reused by others
_M_ARENA_MAX = -8


class AgentsiteConfig(AppConfig):
    name = "agentsite"
    verbose_name = "Operation"

    def ready(self) -> None:
        """Trim imports and tune memory. Runs before the admin's autodiscovery, which imports the same libraries."""
        driver = () if connection.vendor == "postgresql" else ("psycopg", "psycopg2")
        # drf_spectacular imports REST framework's test client, and with it unittest: 2 MiB that only the schema needs.
        with without(*WITH_APPS, *driver), on_first_call("rest_framework.test", "APIRequestFactory"):
            for module in ("rest_framework.compat", "unfold.overrides", "drf_spectacular.plumbing"):
                importlib.import_module(module)
        importlib.import_module("agentsite.json_field").install()
        importlib.import_module("agentsite.checks.registry")  # registers them
        gc.freeze()  # loaded modules stay: exclude them from garbage collection
        gc.set_threshold(GC_THRESHOLD)
        with suppress(AttributeError):  # in other C libraries than glibc
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MAX_HEAPS)  # Python's threads allocate one at a time anyway
