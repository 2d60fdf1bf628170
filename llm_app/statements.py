"""Statements whose text is made once, for the rows that every iteration writes.

Django composes each statement anew, which takes ten times as long as the database needs to run it. Here its text is
kept by model and columns. The fields prepare their values as ever, so what is stored is what the ORM would store; what
it does beside that, such as signals, none of these rows needs. Everything else is the ORM's.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

Fields = Sequence["models.Field[Any, Any]"]
Found = Sequence[tuple[Any, ...]]
# Values of these types go to the database as they are: such fields need not prepare them.
_PLAIN: Mapping[type, type] = {
    models.CharField: str,
    models.TextField: str,
    models.BooleanField: bool,
    models.PositiveIntegerField: int,
    models.PositiveSmallIntegerField: int,
    models.PositiveBigIntegerField: int,
}


class Insert:
    """New rows of one model. They get their keys, and lose them if the transaction is rolled back."""

    def __init__(self, rows: Sequence[models.Model]) -> None:
        self.sql, fields = _insert(type(rows[0]), len(rows))
        self.parameters = [
            value for row in rows for value in _prepared(fields, [field.pre_save(row, add=True) for field in fields])
        ]
        self._rows = rows

    def take(self, found: Found) -> None:
        for row, (key,) in zip(self._rows, found, strict=True):
            row.pk = row.pk or key
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def undo(self) -> None:
        for row in self._rows:
            row._state.adding = True
            if isinstance(row._meta.pk, models.AutoField):
                row.pk = None


class Update:
    """Columns of the one row that fits `where`; a tuple there lists what a column may be.

    `answer` is what the row then says to `returning`, one value or more. Where no row fits, `otherwise` is raised.
    """

    def __init__(
        self,
        model: type[models.Model],
        values: Mapping[str, Any],
        *,
        where: Mapping[str, Any],
        otherwise: Exception,
        returning: str = "1",
    ) -> None:
        wanted = {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}
        lengths = tuple((name, len(some)) for name, some in wanted.items())
        self.sql, fields = _update(model, tuple(values), lengths, returning)
        self.parameters = _prepared(fields, [*values.values(), *(value for some in wanted.values() for value in some)])
        self.answer: Sequence[Any] = ()
        self._otherwise = otherwise

    def take(self, found: Found) -> None:
        if not found:
            raise self._otherwise
        (self.answer,) = found

    def undo(self) -> None: ...


Statement = Insert | Update


def save(row: models.Model) -> Statement:
    """What `row.save()` would do."""
    if row._state.adding:
        return Insert([row])
    values = {field.name: field.pre_save(row, add=False) for field in _written(type(row)) if not field.primary_key}
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
    """PostgreSQL gets all of them at once, so that they cost one round trip."""
    database = connections[DEFAULT_DB_ALIAS]
    answers = _at_once if database.vendor == "postgresql" else _one_by_one
    for statement, found in zip(statements, answers(database, statements), strict=True):
        statement.take(found)


def _one_by_one(database: BaseDatabaseWrapper, statements: Sequence[Statement]) -> Iterator[Found]:
    with database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.sql, statement.parameters)
            yield cursor.fetchall()


def _at_once(database: BaseDatabaseWrapper, statements: Sequence[Statement]) -> Sequence[Found]:
    cursors = [database.cursor() for _ in statements]
    with database.wrap_database_errors, database.connection.pipeline():
        for cursor, statement in zip(cursors, statements, strict=True):
            cursor.execute(statement.sql, statement.parameters)
    return [cursor.fetchall() for cursor in cursors]


def _prepared(fields: Fields, values: Sequence[Any]) -> list[Any]:
    """As the database takes them."""
    database = connections[DEFAULT_DB_ALIAS]
    return [
        value if type(value) is _PLAIN.get(type(field)) else field.get_db_prep_save(value, database)
        for field, value in zip(fields, values, strict=True)
    ]


@lru_cache(maxsize=64)
def _insert(model: type[models.Model], rows: int) -> tuple[str, Fields]:
    """The text, and the fields of its parameters for each row."""
    fields = _written(model)
    columns, marks = ", ".join(map(_column, fields)), ", ".join(["%s"] * len(fields))
    values = ", ".join([f"({marks})"] * rows)
    text = f"INSERT INTO {_quoted(model._meta.db_table)} ({columns}) VALUES {values}"  # noqa: S608  names of models
    return f"{text} RETURNING {_column(model._meta.pk)}", fields


@lru_cache(maxsize=256)
def _update(
    model: type[models.Model], names: tuple[str, ...], where: tuple[tuple[str, int], ...], returning: str
) -> tuple[str, Fields]:
    """The text, and the fields of its parameters. `where`: how many values each column may have."""
    setting, conditions = [_field(model, name) for name in names], [(_field(model, name), n) for name, n in where]
    columns = ", ".join(f"{_column(field)} = %s" for field in setting)
    tests = " AND ".join(f"{_column(field)} IN ({', '.join(['%s'] * count)})" for field, count in conditions)
    text = f"UPDATE {_quoted(model._meta.db_table)} SET {columns} WHERE {tests}"  # noqa: S608  names of models
    return f"{text} RETURNING {returning}", [*setting, *(field for field, count in conditions for _ in range(count))]


@lru_cache(maxsize=32)
def _written(model: type[models.Model]) -> Fields:
    """All but a key that the database gives."""
    return [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]


def _field(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    field = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def _column(field: "models.Field[Any, Any]") -> str:
    return _quoted(field.column)


def _quoted(name: str) -> str:
    return connections[DEFAULT_DB_ALIAS].ops.quote_name(name)
