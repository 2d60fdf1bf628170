"""Statements whose text is made once, for the rows that every iteration writes.

Django composes each statement anew, which takes ten times as long as the database needs to run it. Here its text is
kept by model and columns. The fields prepare their values as ever, so what is stored is what the ORM would store; what
it does beside that, such as signals, none of these rows needs. Everything else is the ORM's.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, TypeAlias
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, models

Field: TypeAlias = "models.Field[Any, Any]"
Prepare = Callable[[Any], Any]
_ENCODE = json.JSONEncoder().encode
_EMPTY: Mapping[type, str] = {dict: "{}", list: "[]"}  # as most are
# Values of these types go to every database as they are: such fields need not prepare them.
_PLAIN: Mapping[type, type] = {
    models.CharField: str,
    models.TextField: str,
    models.BooleanField: bool,
    models.PositiveIntegerField: int,
    models.PositiveSmallIntegerField: int,
    models.PositiveBigIntegerField: int,
    models.BigIntegerField: int,
    models.BigAutoField: int,
}


class _Columns:
    """Fields of a model in their order: what a row has in them, and how the database takes it."""

    def __init__(self, fields: Sequence[Field]) -> None:
        names = [field.attname for field in fields]
        self._values = itemgetter(*names, names[0])  # of one alone, it would give no tuple
        self._saved = [(place, field) for place, field in enumerate(fields) if _sets_itself(field)]
        self._fields = fields
        self._unready = lru_cache(maxsize=64)(self._unready_of)  # by types: most rows have the same ones

    def of(self, row: models.Model, *, add: bool) -> list[Any]:
        """What `row.save()` would store, not yet prepared. All of them must have been read."""
        values = list(self._values(row.__dict__)[:-1])  # a foreign key, asked for as an attribute, calls Django
        for place, field in self._saved:
            values[place] = field.pre_save(row, add)
        return values

    def prepare(self, values: list[Any]) -> list[Any]:
        """Makes of them what the database takes."""
        for place, prepare in self._unready(tuple(map(type, values))):
            values[place] = prepare(values[place])
        return values

    def _unready_of(self, kinds: Sequence[type]) -> Sequence[tuple[int, Prepare]]:
        """Of values of these types: the places of those that do not go as they are, and what makes them ready."""
        prepares = map(_prepare, self._fields, kinds)
        return [(place, prepare) for place, prepare in enumerate(prepares) if prepare is not None]


def _sets_itself(field: Field) -> bool:
    """Whether it has more to do before a row is saved than to give its value."""
    return type(field).pre_save is not models.Field.pre_save and (
        not isinstance(field, models.DateField) or field.auto_now or field.auto_now_add
    )


def _prepare(field: Field, kind: type) -> Prepare | None:
    """How it prepares a value of this type: not at all, in a shorter way that gives the same, or in its own."""
    database, target = connections[DEFAULT_DB_ALIAS], type(_target(field))

    def own(value: Any) -> Any:
        return field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])

    if kind is NoneType or kind is _PLAIN.get(target) or (_PLAIN.get(target) is str and issubclass(kind, str)):
        return None
    if target is models.UUIDField and kind is UUID:
        return None if database.features.has_native_uuid_field else attrgetter("hex")
    if type(field) is models.JSONField and field.encoder is None and database.vendor == "sqlite" and kind in _EMPTY:
        return lambda value: _ENCODE(value) if value else _EMPTY[kind]
    if target is models.DateTimeField and kind is datetime and database.timezone is UTC:
        if database.vendor == "sqlite":
            return lambda value: str(value.replace(tzinfo=None)) if value.tzinfo is UTC else own(value)
        return lambda value: value if value.tzinfo is UTC else own(value)
    return own


def _target(field: Field) -> Field:
    """The field whose values it has."""
    return field.target_field if isinstance(field, models.ForeignKey) else field


class Insert:
    """New rows of one model. They get their keys, and lose them if the transaction is rolled back."""

    def __init__(self, rows: Sequence[models.Model]) -> None:
        self.sql, columns, self._key = _insert(type(rows[0]), len(rows))
        self.parameters: list[Any] = []
        for row in rows:
            self.parameters += columns.prepare(columns.of(row, add=True))
        self._rows = rows

    def take(self, cursor: Any) -> None:
        if self._key:
            for row, (key,) in zip(self._rows, cursor.fetchall(), strict=True):
                row.__dict__[self._key] = row.__dict__[self._key] or key
        for row in self._rows:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def undo(self) -> None:
        for row in self._rows:
            row._state.adding = True
            if self._key:
                row.__dict__[self._key] = None


class Update:
    """Columns of the one row that fits `where`; a tuple there lists what a column may be.

    `answer` is what the row then says to `returning`, if that is asked. Where no row fits, `otherwise` is raised.
    """

    def __init__(
        self,
        model: type[models.Model],
        values: Mapping[str, Any],
        *,
        where: Mapping[str, Any],
        otherwise: Exception,
        returning: str = "",
    ) -> None:
        wanted = [value if type(value) is tuple else (value,) for value in where.values()]
        self.sql, columns = _update(model, tuple(values), tuple(where), tuple(map(len, wanted)), returning)
        self.parameters = columns.prepare([*values.values(), *chain.from_iterable(wanted)])
        self.answer: Sequence[Any] = ()
        self._returns, self._otherwise = bool(returning), otherwise

    def take(self, cursor: Any) -> None:
        if self._returns:
            self.answer = next(iter(cursor.fetchall()), ())
        if not (self.answer or cursor.rowcount):
            raise self._otherwise

    def undo(self) -> None: ...


Statement = Insert | Update


def save(row: models.Model, update_fields: tuple[str, ...] = ()) -> Statement:
    """What `row.save()` would do; `update_fields`: the columns that may change once it is there, if not all may."""
    if row._state.adding:
        return Insert([row])
    names, columns = _changing(type(row), update_fields)
    values = dict(zip(names, columns.of(row, add=False), strict=True))
    return Update(type(row), values, where={"pk": row.pk}, otherwise=models.ObjectDoesNotExist())


@contextmanager
def stored(statements: Sequence[Statement]) -> Iterator[None]:
    """Executes them, inside the caller's transaction; then its block has its turn, and must raise what it meets.

    They run in their order. Raises what an `Update` says where no row fits.
    """
    try:
        execute(statements)
        yield
    except BaseException:
        for statement in statements:
            statement.undo()
        raise


def execute(statements: Sequence[Statement]) -> None:
    """PostgreSQL gets all of them at once, so that they cost one round trip; where somebody listens, one by one."""
    database = connections[DEFAULT_DB_ALIAS]
    is_observed = database.execute_wrappers or database.queries_logged  # through Django's cursors only
    if database.vendor == "postgresql" and not is_observed:
        from llm_app.sql.one_message import execute_at_once

        execute_at_once(database, statements)
        return
    with database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.sql, statement.parameters)
            statement.take(cursor)


@lru_cache(maxsize=64)
def _insert(model: type[models.Model], rows: int) -> tuple[str, _Columns, str]:
    """The text, the columns of its parameters for each row, and the name of the key that the database gives, if so."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    columns, marks = ", ".join(map(_column, fields)), ", ".join(["%s"] * len(fields))
    values = ", ".join([f"({marks})"] * rows)
    text = f"INSERT INTO {_quoted(model._meta.db_table)} ({columns}) VALUES {values}"  # noqa: S608  names of models
    key = model._meta.pk
    if not isinstance(key, models.AutoField):
        return text, _Columns(fields), ""
    return f"{text} RETURNING {_column(key)}", _Columns(fields), key.attname


@lru_cache(maxsize=256)
def _update(
    model: type[models.Model], names: Sequence[str], where: Sequence[str], counts: Sequence[int], returning: str
) -> tuple[str, _Columns]:
    """The text, and the columns of its parameters. `counts`: how many values each column of `where` may have."""
    setting = [_field(model, name) for name in names]
    conditions = list(zip([_field(model, name) for name in where], counts, strict=True))
    columns = ", ".join(f"{_column(field)} = %s" for field in setting)
    tests = " AND ".join(f"{_column(field)} IN ({', '.join(['%s'] * count)})" for field, count in conditions)
    text = f"UPDATE {_quoted(model._meta.db_table)} SET {columns} WHERE {tests}"  # noqa: S608  names of models
    given = [*setting, *(field for field, count in conditions for _ in range(count))]
    return f"{text} RETURNING {returning}" if returning else text, _Columns(given)


@lru_cache(maxsize=32)
def _changing(model: type[models.Model], some: tuple[str, ...]) -> tuple[Sequence[str], _Columns]:
    """Their names, and the columns: without names, all but the key."""
    names = some or tuple(field.name for field in model._meta.concrete_fields if not field.primary_key)
    return names, _Columns([_field(model, name) for name in names])


def _field(model: type[models.Model], name: str) -> Field:
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def _column(field: Field) -> str:
    return _quoted(field.column)


def _quoted(name: str) -> str:
    return connections[DEFAULT_DB_ALIAS].ops.quote_name(name)
