"""Queryset methods whose SQL is cached.

Django takes about ten times as long to build a query as the database takes to answer it. A method with `@cached_sql`
is called with placeholders, once for each combination of argument types, and its SQL is kept. Later calls execute this
SQL with their own values, and return what the method would have returned:

    class TaskQuerySet(models.QuerySet["Task"]):
        @cached_sql
        def active_in(self, session: Any) -> "Task | None":
            return fetch_first(self.active().filter(session=session))

    task = Task.objects.active_in(session)

Arguments are positional: values, model instances (their keys are sent), and collections of values for `__in` lookups.
The method must not compare or test them, because it sees placeholders; only None is passed unchanged. On a queryset
that already has conditions, as in `Task.objects.running().active_in(session)`, the method runs as an ordinary one.
The decorator can also be used for a function that builds its queryset without `self`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.expressions import RawSQL
from django.db.transaction import TransactionManagementError

from llm_app.sql.django_internals import CompiledQuery, compile_select, compile_update, has_conditions

P = ParamSpec("P")
Result = TypeVar("Result")
Row = TypeVar("Row")
Conversion = Callable[[Any], Any]
_COLLECTIONS = frozenset([list, tuple, set, frozenset])
_class_of = attrgetter("__class__")  # `request.user` is lazy: its `__class__` is the user's, its type is not


def cached_sql(function: Callable[P, Result]) -> Callable[P, Result]:
    """Keep the SQL of a function that returns `fetch_all`, `fetch_first` or `update_all`.

    Raises: TransactionManagementError if it would lock rows outside of a transaction.
    """
    statements = _CachedStatements(cast(Any, function))

    @wraps(function)
    def execute(*arguments: Any) -> Any:
        return statements.execute(arguments)

    return execute  # type: ignore[return-value]  # all arguments are positional


def fetch_all(queryset: "models.QuerySet[Any, Row]") -> list[Row]:
    """Describe a query for all rows. `@cached_sql` runs it and returns the rows."""
    return cast(list[Row], _Select(queryset, list))


def fetch_first(queryset: "models.QuerySet[Any, Row]") -> Row | None:
    """Describe a query for the first row. `@cached_sql` runs it and returns the row or None."""
    return cast("Row | None", _Select(queryset[:1], _first))


def update_all(queryset: "models.QuerySet[Any, Any]", **values: Any) -> int:
    """Describe an update of all rows. `@cached_sql` runs it and returns their number."""
    return cast(int, _Update(queryset, values))


class _Select(NamedTuple):
    queryset: "models.QuerySet[Any, Any]"
    result_of: Callable[[Sequence[Any]], Any]

    def run(self) -> Any:
        return self.result_of(list(self.queryset))

    def compile(self) -> CompiledQuery:
        return compile_select(self.queryset)

    def result(self, cursor: Any, query: CompiledQuery) -> Any:
        return self.result_of(query.read(cursor.fetchall()))

    def empty_result(self) -> Any:
        return self.result_of([])


class _Update(NamedTuple):
    queryset: "models.QuerySet[Any, Any]"
    values: Mapping[str, Any]

    def run(self) -> int:
        return self.queryset.update(**self.values)

    def compile(self) -> CompiledQuery:
        return compile_update(self.queryset, self.values)

    def result(self, cursor: Any, query: CompiledQuery) -> int:
        return int(cursor.rowcount)

    def empty_result(self) -> int:
        return 0


def _first(rows: Sequence[Any]) -> Any:
    return rows[0] if rows else None


class _Statement(NamedTuple):
    operation: _Select | _Update
    query: CompiledQuery | None  # None if no row can match
    substitutions: Sequence[tuple[int, int, Conversion | None]]  # index of the parameter, number of the argument


class _CachedStatements:
    """The statements of a function, one for each combination of argument types."""

    def __init__(self, function: Callable[..., _Select | _Update]) -> None:
        self._function = function
        self._is_method = next(iter(signature(function).parameters), "") == "self"
        self._statements: dict[tuple[Any, ...], _Statement] = {}

    def execute(self, arguments: tuple[Any, ...]) -> Any:
        owner: tuple[Any, ...] = ()
        values, model = arguments, None
        if self._is_method:
            owner, values, model = arguments[:1], arguments[1:], arguments[0].model
            if has_conditions(arguments[0]):
                return self._function(*arguments).run()
        key = (model, *map(_class_of, values))
        if key not in self._statements:
            # A collection always needs this, as its size is part of the key.
            key, values = self._prepare(owner, model, values)
        operation, query, substitutions = self._statements[key]
        if query is None:
            return operation.empty_result()
        connection = connections[DEFAULT_DB_ALIAS]
        if query.locks_rows and connection.get_autocommit():
            raise TransactionManagementError("A query that locks rows needs a transaction.")
        parameters = list(query.parameters)
        for index, number, convert in substitutions:
            parameters[index] = convert(values[number]) if convert else values[number]
        with connection.cursor() as cursor:
            cursor.execute(query.sql, parameters)
            return operation.result(cursor, query)

    def _prepare(
        self, owner: tuple[Any, ...], model: Any, arguments: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Compile the statement for these arguments. Return its key, and the arguments with unpacked collections.

        A collection is filled up to a power of two with its first value, so that few statements are compiled.
        """
        parts: list[Any] = [model]
        unpacked: list[Any] = []
        placeholders: list[Any] = []
        for argument in arguments:
            kind = _class_of(argument)
            if kind in _COLLECTIONS:
                values = list(argument)
                values += values[:1] * (2 ** (len(values) - 1).bit_length() - len(values)) if values else []
                placeholders.append([_Placeholder(len(unpacked) + index) for index in range(len(values))])
                parts.append(tuple(map(_class_of, values)))
                unpacked += values
            else:
                placeholders.append(None if argument is None else _Placeholder(len(unpacked)))
                parts.append(kind)
                unpacked.append(argument)
        key = tuple(parts)
        if key not in self._statements:
            self._statements[key] = _compiled(self._function(*owner, *placeholders), unpacked)
        return key, tuple(unpacked)


class _Placeholder(RawSQL):
    """A placeholder for an argument."""

    def __init__(self, number: int) -> None:
        super().__init__("%s", [self])
        self.number = number

    @property
    def pk(self) -> "_Placeholder":
        return self


def _compiled(operation: _Select | _Update, arguments: Sequence[Any]) -> _Statement:
    try:
        query = operation.compile()
    except EmptyResultSet:
        return _Statement(operation, None, ())
    substitutions = [
        (index, value.number, _conversion(arguments[value.number]))
        for index, value in enumerate(query.parameters)
        if isinstance(value, _Placeholder)
    ]
    return _Statement(operation, query, substitutions)


def _conversion(argument: Any) -> Conversion | None:
    """Return the function that makes a parameter of such an argument, or None."""
    path = []
    is_uuid = isinstance(argument, UUID)
    if isinstance(argument, models.Model):
        key = argument._meta.pk
        path.append(key.attname)
        is_uuid = isinstance(key, models.UUIDField)
    if is_uuid and not connections[DEFAULT_DB_ALIAS].features.has_native_uuid_field:
        path.append("hex")
    return attrgetter(".".join(path)) if path else None
