"""Queries whose text is composed once: Django takes ten times as long to compose one as the database to answer it.

What comes of them is what the ORM would find: rows with their related ones, or tuples of values.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.base import ModelState
from django.db.models.expressions import RawSQL
from django.db.models.query import ModelIterable, get_related_populators  # type: ignore[attr-defined]
from django.db.models.sql import Query, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

from llm_app.plain_cursor import plain_cursor

Found = TypeVar("Found")
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
        with plain_cursor(connection) as cursor:
            cursor.execute(composed.text, _filled(composed.parameters, values))
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
        return next(iter(self.rows(*values)), None)

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
        with plain_cursor(connections[DEFAULT_DB_ALIAS]) as cursor:
            cursor.execute(text, _filled(parameters, values))
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
    read = _models if query._iterable_class is ModelIterable else _values
    converters = compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])
    return _Composed(text, parameters, partial(read, compiler, converters), query.query.select_for_update)


def _values(compiler: SQLCompiler, converters: Any, rows: Sequence[Any]) -> list[Any]:
    converted = compiler.apply_converters(rows, converters) if converters else rows
    return [tuple(row[: compiler.col_count]) for row in converted]


def _models(compiler: SQLCompiler, converters: Any, rows: Sequence[Any]) -> list[Any]:
    """As `ModelIterable` makes them, for models with no `__init__` of their own: Django's looks at each field anew."""
    klass: Any = compiler.klass_info
    own = slice(klass["select_fields"][0], klass["select_fields"][-1] + 1)
    names = [column[0].target.attname for column in compiler.select[own]]
    related = get_related_populators(klass, compiler.select, DEFAULT_DB_ALIAS)
    found = []
    for row in compiler.apply_converters(rows, converters) if converters else rows:
        made = klass["model"].__new__(klass["model"])
        made.__dict__.update(zip(names, row[own], strict=True))
        made._state = ModelState()
        made._state.adding, made._state.db = False, DEFAULT_DB_ALIAS
        for populator in related:
            populator.populate(row, made)
        for name, place in (compiler.annotation_col_map or {}).items():
            setattr(made, name, row[place])
        found.append(made)
    return found


def _filled(parameters: Sequence[Any], values: Sequence[object]) -> list[Any]:
    return [_given(values[one.place]) if isinstance(one, _StandIn) else one for one in parameters]


def _given(value: object) -> Any:
    """As the database takes it."""
    is_text = isinstance(value, UUID) and not connections[DEFAULT_DB_ALIAS].features.has_native_uuid_field
    return value.hex if is_text and isinstance(value, UUID) else value
