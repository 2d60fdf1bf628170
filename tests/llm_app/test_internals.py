"""The names that `llm_app.sql` uses of Django and psycopg, although their documentation does not cover them.

After an upgrade, a failing test names what `llm_app/sql/django_internals.py` or `llm_app/sql/one_message.py` misses.
"""

from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.utils import ConnectionHandler
from psycopg import Connection
from psycopg._preparing import PrepareManager

from tasks_app.models import Task


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("django.db.models.base", "ModelState"),
        ("django.db.models.query", "BaseIterable"),
        ("django.db.models.query", "FlatValuesListIterable"),
        ("django.db.models.query", "ModelIterable"),
        ("django.db.models.sql", "UpdateQuery"),
        ("django.db.models.sql.compiler", "SQLCompiler"),
        ("psycopg._preparing", "Prepare"),
        ("psycopg.generators", "fetch_many"),
        ("psycopg.generators", "send"),
        ("psycopg.errors", "error_from_result"),
    ],
)
def test_name_is_in_its_module(module: str, name: str) -> None:
    assert hasattr(import_module(module), name)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (ConnectionHandler, "create_connection"),
        (BaseDatabaseWrapper, "close_if_health_check_failed"),
        (BaseDatabaseWrapper, "ensure_connection"),
        (BaseDatabaseWrapper, "validate_no_broken_transaction"),
        (BaseDatabaseWrapper, "wrap_database_errors"),
        (BaseDatabaseWrapper, "queries_logged"),
        (Query, "chain"),
        (Query, "get_compiler"),
        (UpdateQuery, "add_update_values"),
        (SQLCompiler, "apply_converters"),
        (SQLCompiler, "get_converters"),
        (Connection, "_get_tx_start_command"),
        (Connection, "wait"),
        *((PrepareManager, name) for name in ("get", "maybe_add_to_cache", "validate", "clear", "maintain_gen")),
    ],
)
def test_method_exists(owner: type[Any], name: str) -> None:
    assert hasattr(owner, name)


@pytest.mark.parametrize("name", ["execute_wrappers", "features"])
def test_connection_has_attribute(name: str) -> None:
    assert hasattr(connection, name)


@pytest.mark.parametrize("name", ["where", "order_by", "annotations", "select_related", "select_for_update"])
def test_query_has_attribute(name: str) -> None:
    assert hasattr(Task.objects.all().query, name)
    assert hasattr(Task.objects.all().query.where, "children")


def test_queryset_knows_how_its_rows_are_made() -> None:
    assert hasattr(QuerySet(Task), "_iterable_class")


@pytest.mark.parametrize("name", ["select", "col_count", "klass_info", "annotation_col_map"])
def test_compiler_has_attribute(name: str) -> None:
    compiler = Task.objects.select_related("session").query.get_compiler(connection=connection)
    compiler.as_sql()
    assert getattr(compiler, name, None) is not None or name == "annotation_col_map"


@pytest.mark.parametrize("name", ["model", "select_fields", "related_klass_infos"])
def test_compiler_describes_the_rows(name: str) -> None:
    compiler = Task.objects.select_related("session").query.get_compiler(connection=connection)
    compiler.as_sql()
    assert name in compiler.klass_info
    (related,) = compiler.klass_info["related_klass_infos"]
    assert {"model", "select_fields", "local_setter", "remote_setter"} <= set(related)


def test_psycopg_connection_has_prepared_statements_and_a_lock() -> None:
    names = Connection.__init__.__code__.co_names + Connection.__mro__[1].__init__.__code__.co_names
    assert {"_prepared", "lock"} <= set(names)
