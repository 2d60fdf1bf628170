"""Settings and fixtures of all tests. Each worker has its own data folder, made before Django reads its settings.

The settings are named here instead of in pyproject.toml: pytest-django reads those that it finds before this file runs.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from django.conf import settings

from tests.server import KEYS, POSTGRES

assert not settings.configured, "unset DJANGO_SETTINGS_MODULE: with it, the tests would write into the data of a server"
_FOLDER = tempfile.mkdtemp(prefix=f"agentsite-tests-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-")
os.environ["AGENTSITE_VAR"] = _FOLDER
os.environ.setdefault("AGENTSITE_TESTS_SHARED", _FOLDER)  # the folder of the first process is shared by its workers
os.environ["DJANGO_SETTINGS_MODULE"] = "agentsite.settings"
os.environ["AGENTSITE_WORKSHOP"] = "0"  # 400 MB; tests/tools_app/sandbox/test_workshop.py installs it on demand
for _name, _key in KEYS.items():  # fixed keys, as random ones would make tests random
    _file = Path(_FOLDER, "keys", _name.lower())
    _file.parent.mkdir(mode=0o700, exist_ok=True)
    _file.touch(0o600)
    _file.write_text(_key)
_PROVIDERS = [
    f"{name}_{part}" for name in ("OPENAI", "ANTHROPIC", "GEMINI", "DEEPSEEK") for part in ("API_KEY", "BASE_URL")
]
for _variable in ("DATABASE_URL", "REDIS_URL", "AGENTSITE_CONFIG", "AGENTSITE_ADMIN_TOKEN", *_PROVIDERS):
    os.environ.pop(_variable, None)
if os.environ.get("TEST_DATABASE") == "postgresql":  # `make test-postgres`: also for code in this process
    os.environ["DATABASE_URL"] = f"{POSTGRES}/agentsite_suite"
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)

import django

django.setup()
del os.environ["DJANGO_SETTINGS_MODULE"]

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection
from django.test import TransactionTestCase

from llm_app.transport import wire
from tests import factories
from tools_app.sandbox import session_sandboxes

# On a busy machine, the first draw of a strategy takes seconds, which says nothing about the code under test.
hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")

pytest_plugins = ["tests.whole_run"]


def pytest_configure() -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is slow by design


def _flush(self: TransactionTestCase) -> None:
    """Delete all rows except those that `migrate` creates, after a test with real transactions.

    Django deletes these too and creates them again, which takes 36 ms of CPU. This takes 3 ms.
    """
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    emptied = sorted(set(tables) - {model._meta.db_table for model in (ContentType, Permission)})
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), emptied))


TransactionTestCase._fixture_teardown = _flush


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if connection.vendor == "postgresql" and not _answers(POSTGRES):
        for item in items:
            item.add_marker(pytest.mark.skip("no PostgreSQL here"))
    for item in items:
        if connection.vendor != "sqlite" and item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip("of SQLite alone"))


def _answers(postgres: str) -> bool:
    from psycopg.pq import PGconn, Ping

    return PGconn.ping(f"{postgres}/postgres?connect_timeout=2".encode()) == Ping.OK


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:  # noqa: PT019
    """End connections first: PostgreSQL drops no database while a thread of a test is connected to it."""
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


@pytest.fixture(scope="session", autouse=True)
def _leave_nothing() -> Iterator[None]:
    session_sandboxes.MAX_IDLE = 2
    yield
    wire.close()


@pytest.fixture
def alice(db: None) -> Any:
    """The owner of the tests' objects."""
    return factories.UserFactory(username="alice")


@pytest.fixture
def bob(db: None) -> Any:
    """A user with read access to alice's session."""
    return factories.UserFactory(username="bob")


@pytest.fixture
def carol(db: None) -> Any:
    """A user with write access to alice's session."""
    return factories.UserFactory(username="carol")


@pytest.fixture
def charlie(db: None) -> Any:
    """A user without access to any object of alice."""
    return factories.UserFactory(username="charlie")


@pytest.fixture
def session(alice: Any, bob: Any, carol: Any, charlie: Any) -> Any:
    """Alice's session, with the scripted provider behind its model."""
    shared = factories.SessionFactory(owner=alice, model=factories.scripted_model("script"))
    factories.MemberFactory(session=shared, user=bob)
    factories.MemberFactory(session=shared, user=carol, may_write=True)
    return shared
