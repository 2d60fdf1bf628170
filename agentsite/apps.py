import ctypes
import gc
import importlib
from contextlib import suppress

from django.apps import AppConfig
from django.db import connection

from agentsite.optional_imports import WITH_APPS, on_first_call, without

YOUNG_OBJECTS = 10_000  # before they are looked through: of 700, Python's default, most are still in use
HEAPS = 2  # glibc would make up to eight a core, one a thread, and what one thread frees no other gets
_M_ARENA_MAX = -8


class AgentsiteConfig(AppConfig):
    name = "agentsite"
    verbose_name = "Operation"

    def ready(self) -> None:
        """Before the admin looks for its pages: they import what is imported here."""
        driver = () if connection.vendor == "postgresql" else ("psycopg", "psycopg2")
        # What describes the API makes requests as tests do: Django's tools for these, and unittest, are 2 MiB.
        with without(*WITH_APPS, *driver), on_first_call("rest_framework.test", "APIRequestFactory"):
            for module in ("rest_framework.compat", "unfold.overrides", "drf_spectacular.plumbing"):
                importlib.import_module(module)
        importlib.import_module("agentsite.json_field").install()
        importlib.import_module("agentsite.checks.registry")  # registers them
        gc.freeze()  # what is loaded by now stays: no collection looks through it
        gc.set_threshold(YOUNG_OBJECTS)
        _share_heaps()


def _share_heaps() -> None:
    """Python's threads allocate one at a time anyway. Where the C library is another, nothing is done."""
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, HEAPS)
