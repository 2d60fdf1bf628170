"""The names of Django that this package uses and its documentation does not cover.

tests/llm_app/test_internals.py names each of them that an upgrade removes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.base import ModelState
from django.db.models.query import BaseIterable, FlatValuesListIterable, ModelIterable
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

Rows = Sequence[Any]
Row = TypeVar("Row", bound=models.Model)


class CompiledQuery(NamedTuple):
    sql: str
    parameters: list[Any]
    read: Callable[[Rows], list[Any]]  # makes instances or values from the database's rows
    locks_rows: bool


def has_conditions(queryset: "models.QuerySet[Any, Any]") -> bool:
    """Return whether the queryset is filtered, ordered, annotated or joined."""
    query = queryset.query
    return bool(query.where.children or query.order_by or query.annotations or query.select_related)


def with_rows(
    queryset: "models.QuerySet[Row, Any]", read: "Callable[[models.QuerySet[Row, Any]], Iterable[Any]]"
) -> "models.QuerySet[Row, Any]":
    """Return the queryset with other rows. `read` receives it, filtered, ordered and sliced, when it is evaluated."""

    class RowsIterable(BaseIterable):  # type: ignore[type-arg]  # not generic at runtime
        def __iter__(self) -> Iterator[Any]:
            return iter(read(cast(Any, self.queryset)))

    clone = queryset.all()
    clone._iterable_class = RowsIterable
    return clone


def compile_select(queryset: "models.QuerySet[Any, Any]") -> CompiledQuery:
    """Compile a query.

    Raises: EmptyResultSet if no row can match.
    """
    compiler, sql, parameters = _compile(queryset.query)
    converters = compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])
    if queryset._iterable_class is ModelIterable:
        make = _instances(compiler)
    elif queryset._iterable_class is FlatValuesListIterable:
        make = _first_columns
    else:
        make = _tuples(compiler)

    def read(rows: Any) -> list[Any]:
        if converters and rows:
            rows = compiler.apply_converters(rows, converters)
        return make(rows)

    return CompiledQuery(sql, parameters, read, queryset.query.select_for_update)


def compile_update(queryset: "models.QuerySet[Any, Any]", values: Mapping[str, Any]) -> CompiledQuery:
    """Compile an update of the queryset's rows.

    Raises: EmptyResultSet if no row can match.
    """
    query: Any = queryset.order_by().query.chain(UpdateQuery)
    query.add_update_values(values)
    _, sql, parameters = _compile(query)
    return CompiledQuery(sql, parameters, list, locks_rows=False)


def check_connection(database: BaseDatabaseWrapper) -> None:
    """Do what `BaseDatabaseWrapper.cursor` does before it creates a cursor."""
    database.close_if_health_check_failed()
    database.ensure_connection()
    database.validate_no_broken_transaction()


def is_observed(database: BaseDatabaseWrapper) -> bool:
    """Return whether statements must go through Django's cursors, because they are logged or wrapped."""
    return bool(database.execute_wrappers or database.queries_logged)


def _compile(query: Query) -> tuple[SQLCompiler, str, list[Any]]:
    # The compiler keeps its connection and is used by many threads, so the connection belongs to no thread.
    connection = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        if query.select_for_update and connection.features.has_select_for_update:
            connection.set_autocommit(False)  # Django compiles a lock in a transaction only
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return compiler, sql, list(parameters)
    finally:
        connection.close()


def _first_columns(rows: Rows) -> list[Any]:
    return [row[0] for row in rows]


def _tuples(compiler: SQLCompiler) -> Callable[[Rows], list[Any]]:
    count = compiler.col_count
    return lambda rows: [tuple(row[:count]) for row in rows]


def _instances(compiler: SQLCompiler) -> Callable[[Rows], list[Any]]:
    """Return a function that makes model instances without `Model.__init__`, which takes ten times as long."""
    klass: Any = compiler.klass_info
    make_instance = _instance_maker(klass, compiler)
    annotations = (compiler.annotation_col_map or {}).items()

    def instances(rows: Rows) -> list[Any]:
        made = []
        for row in rows:
            instance = make_instance(row)
            for name, column in annotations:
                setattr(instance, name, row[column])
            made.append(instance)
        return made

    return instances


def _instance_maker(klass: dict[str, Any], compiler: SQLCompiler) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes an instance and its related ones from a row, or None if the row has none."""
    model, columns = klass["model"], slice(klass["select_fields"][0], klass["select_fields"][-1] + 1)
    names = [column[0].target.attname for column in compiler.select[columns]]
    key = model._meta.pk.attname
    related = [
        (_instance_maker(other, compiler), other["local_setter"], other["remote_setter"])
        for other in klass.get("related_klass_infos", ())
    ]

    def make_instance(row: Sequence[Any]) -> Any:
        values = dict(zip(names, row[columns], strict=True))
        if values[key] is None:
            return None
        instance = model.__new__(model)
        instance.__dict__.update(values)
        instance._state = ModelState()
        instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
        for make_related, set_related, set_back in related:
            other = make_related(row)
            set_related(instance, other)
            if other is not None:
                set_back(other, instance)
        return instance

    return make_instance
