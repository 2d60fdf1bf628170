"""Queries whose text is composed once: Django takes ten times as long to compose one as the database to answer it.

What comes of them is what the ORM would find: rows with their related ones, or tuples of values.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.base import ModelState
from django.db.models.expressions import RawSQL
from django.db.models.query import ModelIterable, get_related_populators  # type: ignore[attr-defined]
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

Found = TypeVar("Found")
Read = Callable[[Iterable[Any]], list[Any]]  # makes what was asked for of rows
_composing = Lock()


class _Composed(NamedTuple):
    """`read` makes what was asked for of the database's rows; `locks` them, which holds in a transaction alone."""

    text: str
    parameters: Sequence[Any]
    read: Callable[[Sequence[Any]], list[Any]]
    locks: bool


class Select(Generic[Found]):
    """`compose` makes the query, once for each number of values, of what stands in for them: with a `pk`, as a row."""

    def __init__(self, compose: Callable[..., "models.QuerySet[Any, Found]"]) -> None:
        self._compose = compose
        self._composed: dict[int, _Composed] = {}

    def rows(self, *values: object) -> list[Found]:
        """Raises TransactionManagementError where it would lock them for nothing."""
        composed = self._composed.get(len(values)) or self._composed_for(len(values))
        connection = connections[DEFAULT_DB_ALIAS]
        if composed.locks and connection.get_autocommit():
            raise TransactionManagementError("Rows are locked in a transaction only.")
        with connection.cursor() as cursor:
            cursor.execute(composed.text, _filled(composed.parameters, values, connection))
            return composed.read(cursor.fetchall())

    def of_keys(self, keys: Collection[object], *before: object) -> list[Found]:
        """Their rows; filled up to a power of two, so that there are few queries to compose, however many keys come.

        The values `before` them are given to the query first.
        """
        given = list(keys)
        filling = given[:1] * (2 ** (len(given) - 1).bit_length() - len(given)) if given else []
        return self.rows(*before, *given, *filling) if given else []

    def first(self, *values: object) -> Found | None:
        """Of a query that is limited to one row."""
        rows = self.rows(*values)
        return rows[0] if rows else None

    def _composed_for(self, count: int) -> _Composed:
        with _composing:
            self._composed[count] = composed = _compose(self._compose(*map(_StandIn, range(count))))
        return composed


class Change:
    """`compose` makes, of what stands in for the values, the rows and what their columns become: once."""

    def __init__(self, compose: Callable[..., "tuple[models.QuerySet[Any, Any], Mapping[str, Any]]"]) -> None:
        self._compose = compose
        self._composed: tuple[str, Sequence[Any]] | None = None

    def make(self, *values: object) -> int:
        """How many rows it has changed."""
        text, parameters = self._composed or self._composed_for(len(values))
        connection = connections[DEFAULT_DB_ALIAS]
        with connection.cursor() as cursor:
            cursor.execute(text, _filled(parameters, values, connection))
            return int(cursor.rowcount)

    def _composed_for(self, count: int) -> tuple[str, Sequence[Any]]:
        with _composing:
            rows, columns = self._compose(*map(_StandIn, range(count)))
            query: Any = rows.order_by().query.chain(UpdateQuery)
            query.add_update_values(columns)
            self._composed = composed = _text_of(query)[1:]
        return composed


class _StandIn(RawSQL):
    """For the value in its place."""

    def __init__(self, place: int) -> None:
        super().__init__("%s", [self])
        self.place = place

    @property
    def pk(self) -> "_StandIn":
        return self


def _text_of(query: Query) -> tuple[SQLCompiler, str, Sequence[Any]]:
    """By a connection that is no thread's: what is kept outlives threads."""
    nobodys = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        if query.select_for_update and nobodys.features.has_select_for_update:
            nobodys.set_autocommit(False)  # as it will be where it is asked
        compiler = query.get_compiler(connection=nobodys)
        return compiler, *compiler.as_sql()
    finally:
        nobodys.close()


def _compose(query: "models.QuerySet[Any, Any]") -> _Composed:
    compiler, text, parameters = _text_of(query.query)
    read = _models(compiler) if query._iterable_class is ModelIterable else _values(compiler)
    converters = compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])

    def found(rows: Sequence[Any]) -> list[Any]:
        return read(compiler.apply_converters(rows, converters) if converters and rows else rows)

    return _Composed(text, parameters, found, query.query.select_for_update)


def _values(compiler: SQLCompiler) -> Read:
    count = compiler.col_count
    return lambda rows: [tuple(row[:count]) for row in rows]


def _models(compiler: SQLCompiler) -> Read:
    """As `ModelIterable` makes them, for models with no `__init__` of their own: Django's looks at each field anew."""
    klass: Any = compiler.klass_info
    model, own = klass["model"], slice(klass["select_fields"][0], klass["select_fields"][-1] + 1)
    names = [column[0].target.attname for column in compiler.select[own]]
    related = get_related_populators(klass, compiler.select, DEFAULT_DB_ALIAS)
    annotations = (compiler.annotation_col_map or {}).items()

    def made(row: Sequence[Any]) -> Any:
        one = model.__new__(model)
        one.__dict__.update(zip(names, row[own], strict=True))
        one._state = ModelState()
        one._state.adding, one._state.db = False, DEFAULT_DB_ALIAS
        for populator in related:
            populator.populate(row, one)
        for name, place in annotations:
            setattr(one, name, row[place])
        return one

    return lambda rows: [made(row) for row in rows]


def _filled(parameters: Sequence[Any], values: Sequence[object], connection: BaseDatabaseWrapper) -> list[Any]:
    """With the values in their places, as the database takes them."""
    filled = [values[one.place] if type(one) is _StandIn else one for one in parameters]
    if connection.features.has_native_uuid_field:
        return filled
    return [value.hex if type(value) is UUID else value for value in filled]
