"""Statements for the rows that every iteration writes. Their SQL is cached by model and columns.

Django takes about ten times as long to build such a statement as the database takes to run it. Values are stored
as `save()` would store them. Signals are not sent; none of these models has any.
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

from llm_app.sql.django_internals import is_observed

Field: TypeAlias = "models.Field[Any, Any]"
Preparation = Callable[[Any], Any]
_ENCODE = json.JSONEncoder().encode
_EMPTY_JSON: Mapping[type, str] = {dict: "{}", list: "[]"}
# Every database takes values of these types as they are, so the fields need not prepare them.
_PLAIN_TYPES: Mapping[type, type] = {
    models.CharField: str,
    models.TextField: str,
    models.BooleanField: bool,
    models.PositiveIntegerField: int,
    models.PositiveSmallIntegerField: int,
    models.PositiveBigIntegerField: int,
    models.BigIntegerField: int,
    models.BigAutoField: int,
}


class InsertRows:
    """An insert of new rows of one model. It sets their keys; `undo` clears the keys."""

    def __init__(self, rows: Sequence[models.Model]) -> None:
        self.sql, columns, self._key = _insert(type(rows[0]), len(rows))
        self.parameters: list[Any] = []
        for row in rows:
            self.parameters += columns.prepare(columns.values_of(row, add=True))
        self._rows = rows

    def read_result(self, cursor: Any) -> None:
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


class UpdateRow:
    """An update of the one row that matches `where`.

    `where` maps columns to values; a tuple means IN.

    `returned` holds the columns of `returning` after the statement has run. `error` is raised if no row matches.
    """

    def __init__(
        self,
        model: type[models.Model],
        values: Mapping[str, Any],
        *,
        where: Mapping[str, Any],
        error: Exception,
        returning: str = "",
    ) -> None:
        alternatives = [value if type(value) is tuple else (value,) for value in where.values()]
        self.sql, columns = _update(model, tuple(values), tuple(where), tuple(map(len, alternatives)), returning)
        self.parameters = columns.prepare([*values.values(), *chain.from_iterable(alternatives)])
        self.returned: Sequence[Any] = ()
        self._returns, self._error = bool(returning), error

    def read_result(self, cursor: Any) -> None:
        if self._returns:
            self.returned = next(iter(cursor.fetchall()), ())
        if not (self.returned or cursor.rowcount):
            raise self._error

    def undo(self) -> None: ...


Statement = InsertRows | UpdateRow


def save(row: models.Model, update_fields: tuple[str, ...] = ()) -> Statement:
    """Return the statement that `row.save()` would execute. `update_fields` limits the columns of an existing row."""
    if row._state.adding:
        return InsertRows([row])
    names, columns = _updated_columns(type(row), update_fields)
    values = dict(zip(names, columns.values_of(row, add=False), strict=True))
    return UpdateRow(type(row), values, where={"pk": row.pk}, error=models.ObjectDoesNotExist())


@contextmanager
def executed(statements: Sequence[Statement]) -> Iterator[None]:
    """Execute the statements in the caller's transaction; restore the rows if they or the block fail."""
    try:
        execute(statements)
        yield
    except BaseException:
        for statement in statements:
            statement.undo()
        raise


def execute(statements: Sequence[Statement]) -> None:
    """Execute the statements in order: on PostgreSQL in one round trip, unless Django logs or wraps statements."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor == "postgresql" and not is_observed(database):
        from llm_app.sql.one_message import execute_together

        execute_together(database, statements)
        return
    with database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.sql, statement.parameters)
            statement.read_result(cursor)


class _Columns:
    """Fields of a model in order, which give the values of a row and prepare them for the database."""

    def __init__(self, fields: Sequence[Field]) -> None:
        names = [field.attname for field in fields]
        self._values = itemgetter(*names, names[0])  # with one name only, it would not return a tuple
        self._saved = [(index, field) for index, field in enumerate(fields) if _has_own_pre_save(field)]
        self._fields = fields
        self._preparations = lru_cache(maxsize=64)(self._preparations_for)

    def values_of(self, row: models.Model, *, add: bool) -> list[Any]:
        """Return the values that `row.save()` would store, unprepared. Deferred fields are not supported."""
        values = list(self._values(row.__dict__)[:-1])  # attribute access goes through Django's descriptors
        for index, field in self._saved:
            values[index] = field.pre_save(row, add)
        return values

    def prepare(self, values: list[Any]) -> list[Any]:
        """Replace the values by those for the database."""
        for index, prepare in self._preparations(tuple(map(type, values))):
            values[index] = prepare(values[index])
        return values

    def _preparations_for(self, types: Sequence[type]) -> Sequence[tuple[int, Preparation]]:
        """Return (index, function) for each value whose type needs preparation."""
        preparations = map(_preparation, self._fields, types)
        return [(index, prepare) for index, prepare in enumerate(preparations) if prepare is not None]


def _has_own_pre_save(field: Field) -> bool:
    """Return whether the field does more before saving than return its value."""
    return type(field).pre_save is not models.Field.pre_save and (
        not isinstance(field, models.DateField) or field.auto_now or field.auto_now_add
    )


def _preparation(field: Field, kind: type) -> Preparation | None:
    """Return the function that prepares values of a type: None, a shortcut with the same result, or the field's own."""
    database = connections[DEFAULT_DB_ALIAS]
    target = type(field.target_field if isinstance(field, models.ForeignKey) else field)

    def own(value: Any) -> Any:
        return field.get_db_prep_save(value, connections[DEFAULT_DB_ALIAS])

    plain = _PLAIN_TYPES.get(target)
    if kind is NoneType or kind is plain or (plain is str and issubclass(kind, str)):
        return None
    if target is models.UUIDField and kind is UUID:
        return None if database.features.has_native_uuid_field else attrgetter("hex")
    if (
        type(field) is models.JSONField
        and field.encoder is None
        and database.vendor == "sqlite"
        and kind in _EMPTY_JSON
    ):
        return lambda value: _ENCODE(value) if value else _EMPTY_JSON[kind]
    if target is models.DateTimeField and kind is datetime and database.timezone is UTC:
        if database.vendor == "sqlite":
            return lambda value: str(value.replace(tzinfo=None)) if value.tzinfo is UTC else own(value)
        return lambda value: value if value.tzinfo is UTC else own(value)
    return own


@lru_cache(maxsize=64)
def _insert(model: type[models.Model], rows: int) -> tuple[str, _Columns, str]:
    """Return the SQL, the columns of its parameters per row, and the name of a key that the database generates."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    columns, placeholders = ", ".join(map(_column, fields)), ", ".join(["%s"] * len(fields))
    values = ", ".join([f"({placeholders})"] * rows)
    sql = f"INSERT INTO {_quoted(model._meta.db_table)} ({columns}) VALUES {values}"  # noqa: S608  names of models
    key = model._meta.pk
    if not isinstance(key, models.AutoField):
        return sql, _Columns(fields), ""
    return f"{sql} RETURNING {_column(key)}", _Columns(fields), key.attname


@lru_cache(maxsize=256)
def _update(
    model: type[models.Model], names: Sequence[str], where: Sequence[str], counts: Sequence[int], returning: str
) -> tuple[str, _Columns]:
    """Return the SQL and the columns of its parameters. `counts` are the numbers of alternatives in `where`."""
    changed = [_field(model, name) for name in names]
    conditions = list(zip([_field(model, name) for name in where], counts, strict=True))
    columns = ", ".join(f"{_column(field)} = %s" for field in changed)
    tests = " AND ".join(f"{_column(field)} IN ({', '.join(['%s'] * count)})" for field, count in conditions)
    sql = f"UPDATE {_quoted(model._meta.db_table)} SET {columns} WHERE {tests}"  # noqa: S608  names of models
    fields = [*changed, *(field for field, count in conditions for _ in range(count))]
    return f"{sql} RETURNING {returning}" if returning else sql, _Columns(fields)


@lru_cache(maxsize=32)
def _updated_columns(model: type[models.Model], update_fields: tuple[str, ...]) -> tuple[Sequence[str], _Columns]:
    """Return the names and columns that `save` updates: by default, all but the key."""
    names = update_fields or tuple(field.name for field in model._meta.concrete_fields if not field.primary_key)
    return names, _Columns([_field(model, name) for name in names])


def _field(model: type[models.Model], name: str) -> Field:
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def _column(field: Field) -> str:
    return _quoted(field.column)


def _quoted(name: str) -> str:
    return connections[DEFAULT_DB_ALIAS].ops.quote_name(name)
