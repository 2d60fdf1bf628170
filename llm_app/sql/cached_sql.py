"""Queryset methods whose SQL is kept.

Django takes about ten times as long to build a query as the database takes to answer it. A method with `@cached_sql`
is called with placeholders, once for each combination of argument types, and its SQL is kept. Later calls execute this
SQL with their own values, and return what the method would have returned:

    class TaskQuerySet(models.QuerySet["Task"]):
        @cached_sql
        def active_in(self, session: Any) -> "Task | None":
            return fetch_first(self.active().filter(session=session))

    task = Task.objects.active_in(session)

Arguments are positional: values, model instances (their keys are sent), and collections of values for `__in` lookups.
The method must not compare or test them, because it sees placeholders; only None arrives as itself. On a queryset that
already has conditions, as in `Task.objects.running().active_in(session)`, the method runs as an ordinary one. The
decorator can also be used for a function that builds its queryset without `self`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.base import ModelState
from django.db.models.expressions import RawSQL
from django.db.models.query import FlatValuesListIterable, ModelIterable
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

P = ParamSpec("P")
Result = TypeVar("Result")
Row = TypeVar("Row")
_COLLECTIONS = frozenset([list, tuple, set, frozenset])


def cached_sql(function: Callable[P, Result]) -> Callable[P, Result]:
    """Keep the SQL of a function that returns `fetch_all`, `fetch_first` or `update_all`.

    Raises: TransactionManagementError if it would lock rows outside of a transaction.
    """
    query = _CachedQuery(cast(Any, function))

    @wraps(function)
    def execute(*arguments: Any) -> Any:
        return query.execute(arguments)

    return execute  # type: ignore[return-value]  # all arguments are positional


def fetch_all(queryset: "models.QuerySet[Any, Row]") -> list[Row]:
    """Return all rows, from a function with `@cached_sql`."""
    return cast(list[Row], _Select(queryset, list))


def fetch_first(queryset: "models.QuerySet[Any, Row]") -> Row | None:
    """Return the first row or None, from a function with `@cached_sql`."""
    return cast("Row | None", _Select(queryset[:1], _first))


def update_all(queryset: "models.QuerySet[Any, Any]", **values: Any) -> int:
    """Update all rows and return their number, from a function with `@cached_sql`."""
    return cast(int, _Update(queryset, values))


def _first(rows: Sequence[Any]) -> Any:
    return rows[0] if rows else None


class _Statement(NamedTuple):
    sql: str  # empty if no row can match
    parameters: Sequence[Any]
    arguments: Sequence[tuple[int, int, Callable[[Any], Any] | None]]  # place, number of the argument, its conversion
    result: Callable[[Any], Any]  # of the cursor
    locks_rows: bool


class _CachedQuery:
    """The statement of a function for each combination of argument types."""

    def __init__(self, function: "Callable[..., _Select | _Update]") -> None:
        self._function = function
        self._is_method = next(iter(signature(function).parameters), "") == "self"
        self._statements: dict[tuple[Any, ...], _Statement] = {}

    def execute(self, arguments: tuple[Any, ...]) -> Any:
        """Return the result. A narrowed queryset is left to Django."""
        owner: tuple[Any, ...] = ()
        values, model = arguments, None
        if self._is_method:
            values, owner = arguments[1:], arguments[:1]
            model, query = owner[0].model, owner[0].query
            if query.where.children or query.order_by or query.annotations or query.select_related:
                return self._function(*arguments).run()
        key = (model, *map(type, values))
        if key not in self._statements:
            key, values = self._prepare(owner, values, key)
        statement = self._statements[key]
        if not statement.sql:
            return statement.result(None)
        connection = connections[DEFAULT_DB_ALIAS]
        if statement.locks_rows and connection.get_autocommit():
            raise TransactionManagementError("Rows are locked in a transaction only.")
        parameters = list(statement.parameters)
        for place, number, convert in statement.arguments:
            parameters[place] = convert(values[number]) if convert else values[number]
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, parameters)
            return statement.result(cursor)

    def _prepare(
        self, owner: tuple[Any, ...], arguments: tuple[Any, ...], types: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Compile the statement for these arguments. Return its key, and the arguments with unpacked collections.

        A collection is filled up to a power of two with its first value, so that few statements are compiled.
        """
        key: list[Any] = list(types[:1])
        unpacked: list[Any] = []
        placeholders: list[Any] = []
        for argument, kind in zip(arguments, types[1:], strict=True):
            if kind in _COLLECTIONS:
                values = list(argument)
                values += values[:1] * (2 ** (len(values) - 1).bit_length() - len(values)) if values else []
                placeholders.append([_Placeholder(len(unpacked) + place) for place in range(len(values))])
                key.append(tuple(map(type, values)))
                unpacked += values
            else:
                placeholders.append(None if argument is None else _Placeholder(len(unpacked)))
                key.append(kind)
                unpacked.append(argument)
        if tuple(key) not in self._statements:
            self._statements[tuple(key)] = self._function(*owner, *placeholders).compiled(unpacked)
        return tuple(key), tuple(unpacked)


class _Placeholder(RawSQL):
    """Stands for an argument while a queryset is built."""

    def __init__(self, number: int) -> None:
        super().__init__("%s", [self])
        self.number = number

    @property
    def pk(self) -> "_Placeholder":
        return self


class _Select(NamedTuple):
    queryset: "models.QuerySet[Any, Any]"
    result: Callable[[Any], Any]  # of the rows

    def run(self) -> Any:
        return self.result(list(self.queryset))

    def compiled(self, arguments: Sequence[Any]) -> _Statement:
        query = self.queryset.query
        try:
            compiler, sql, parameters = _compiled(query)
        except EmptyResultSet:
            return _Statement("", (), (), lambda _: self.result([]), False)
        converters = compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])
        if self.queryset._iterable_class is ModelIterable:
            read = _instances(compiler)
        elif self.queryset._iterable_class is FlatValuesListIterable:
            read = _first_columns
        else:
            read = _tuples(compiler)

        def result(cursor: Any) -> Any:
            rows = cursor.fetchall()
            if converters and rows:
                rows = compiler.apply_converters(rows, converters)
            return self.result(read(rows))

        return _Statement(sql, parameters, _places(parameters, arguments, compiler), result, query.select_for_update)


class _Update(NamedTuple):
    queryset: "models.QuerySet[Any, Any]"
    values: Mapping[str, Any]

    def run(self) -> int:
        return self.queryset.update(**self.values)

    def compiled(self, arguments: Sequence[Any]) -> _Statement:
        query: Any = self.queryset.order_by().query.chain(UpdateQuery)
        query.add_update_values(self.values)
        try:
            compiler, sql, parameters = _compiled(query)
        except EmptyResultSet:
            return _Statement("", (), (), lambda _: 0, False)
        return _Statement(sql, parameters, _places(parameters, arguments, compiler), attrgetter("rowcount"), False)


def _compiled(query: Query) -> tuple[SQLCompiler, str, Sequence[Any]]:
    # Statements outlive threads, and the compiler keeps its connection: so this one belongs to no thread.
    connection = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        if query.select_for_update and connection.features.has_select_for_update:
            connection.set_autocommit(False)  # Django compiles a lock in a transaction only
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        return compiler, sql, list(parameters)
    finally:
        connection.close()


def _places(
    parameters: Sequence[Any], arguments: Sequence[Any], compiler: SQLCompiler
) -> list[tuple[int, int, Callable[[Any], Any] | None]]:
    """Return the place among the parameters, the argument's number and its conversion for each placeholder."""
    has_uuids = compiler.connection.features.has_native_uuid_field
    return [
        (place, value.number, _conversion(arguments[value.number], has_uuids=has_uuids))
        for place, value in enumerate(parameters)
        if isinstance(value, _Placeholder)
    ]


def _conversion(argument: Any, *, has_uuids: bool) -> Callable[[Any], Any] | None:
    """Return the function that makes a parameter of such an argument, or None."""
    is_instance = isinstance(argument, models.Model)
    needs_hex = isinstance(argument.pk if is_instance else argument, UUID) and not has_uuids
    path = [*([argument._meta.pk.attname] if is_instance else []), *(["hex"] if needs_hex else [])]
    return attrgetter(".".join(path)) if path else None


def _first_columns(rows: Sequence[Any]) -> list[Any]:
    return [row[0] for row in rows]


def _tuples(compiler: SQLCompiler) -> Callable[[Sequence[Any]], list[Any]]:
    count = compiler.col_count
    return lambda rows: [tuple(row[:count]) for row in rows]


def _instances(compiler: SQLCompiler) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that makes model instances without `Model.__init__`, which takes ten times as long."""
    klass: Any = compiler.klass_info
    instance_of = _instance_maker(klass, compiler)
    annotations = (compiler.annotation_col_map or {}).items()

    def instances(rows: Sequence[Any]) -> list[Any]:
        found = []
        for row in rows:
            instance = instance_of(row)
            for name, place in annotations:
                setattr(instance, name, row[place])
            found.append(instance)
        return found

    return instances


def _instance_maker(klass: dict[str, Any], compiler: SQLCompiler) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes an instance and its related ones from a row; None if a related row is missing."""
    model, columns = klass["model"], slice(klass["select_fields"][0], klass["select_fields"][-1] + 1)
    names = [column[0].target.attname for column in compiler.select[columns]]
    key = model._meta.pk.attname
    related = [
        (_instance_maker(other, compiler), other["local_setter"], other["remote_setter"])
        for other in klass.get("related_klass_infos", ())
    ]

    def instance_of(row: Sequence[Any]) -> Any:
        values = dict(zip(names, row[columns], strict=True))
        if values[key] is None:
            return None
        instance = model.__new__(model)
        instance.__dict__.update(values)
        instance._state = ModelState()
        instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
        for maker, set_related, set_back in related:
            other = maker(row)
            set_related(instance, other)
            if other is not None:
                set_back(other, instance)
        return instance

    return instance_of
