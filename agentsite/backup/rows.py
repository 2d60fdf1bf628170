"""The rows of each table in a file of JSON lines, in a format of neither database: first the columns, then the rows."""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, cast

from django.apps import apps as current
from django.apps.registry import Apps
from django.core.management.color import no_style
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F, TextField, Value
from django.db.models.functions import Cast
from django.db.models.sql import InsertQuery

from agentsite.backup import BackupError
from llm_app.encryption import EncryptedTextField

LEFT_OUT = {"engine_processes"}  # processes that run, or ran, on the old database
PROGRESS_ROWS = 50_000  # between two reports
_BATCH_SIZE = 500
Table = type[models.Model]
Progress = tuple[str, int]  # a table's name, and how many rows of it are done


@contextmanager
def snapshot() -> Iterator[None]:
    """Let all reads in the block see the database as it is now, without blocking writers."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # for slow disks
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # `atomic` would take the write lock
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def write(folder: Path) -> Iterator[Progress]:
    """Write one table after the other. Yield progress every `PROGRESS_ROWS` rows and at the end of each table."""
    folder.mkdir()
    for name, table in backup_tables(current).items():
        for count in _write(table, folder / f"{name}.jsonl"):
            yield name, count


def _write(table: Table, path: Path) -> Iterator[int]:
    count, fields = 0, _fields(table)
    rows = table._base_manager.order_by("pk").values_list(*map(_stored_expression, fields))
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps([field.attname for field in fields]) + "\n")
        for count, row in enumerate(rows.iterator(chunk_size=_BATCH_SIZE), 1):
            file.write(json.dumps(row, default=_to_text, ensure_ascii=False) + "\n")
            if count % PROGRESS_ROWS == 0:
                yield count
    yield count


def _stored_expression(field: "models.Field[Any, Any]") -> Any:
    return Cast(field.attname, TextField()) if isinstance(field, EncryptedTextField) else F(field.attname)


def _to_text(value: Any) -> str:
    """Return text that Django's fields parse to the same value, with all microseconds and digits."""
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


@contextmanager
def replace_all(apps: Apps) -> Iterator[None]:
    """Delete all rows and let the block load new ones, in one transaction.

    Raises: BackupError if the database refuses the rows.
    """
    try:
        with transaction.atomic():
            names = [table._meta.db_table for table in all_tables(apps)]
            for statement in connection.ops.sql_flush(no_style(), names):
                _execute(statement)
            yield
            for statement in connection.ops.sequence_reset_sql(no_style(), all_tables(apps)):
                _execute(statement)
    except DatabaseError as error:
        raise BackupError(f"The database refuses the rows, and is as it was: {error}") from error


def read(folder: Path, apps: Apps) -> Iterator[Progress]:
    """Load one table after the other. Yield progress as `write` does.

    Raises: BackupError for an unknown table.
    """
    tables_by_name = backup_tables(apps)
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in tables_by_name:
            raise BackupError(f"{path} is of a table that this version does not have.")
        for count in _read(tables_by_name[path.stem], path):
            yield path.stem, count


def _read(table: Table, path: Path) -> Iterator[int]:
    fields: Mapping[str, Any] = {field.attname: field for field in _fields(table)}
    count = 0
    with path.open(encoding="utf-8") as file:
        columns = json.loads(next(file))
        while lines := list(islice(file, _BATCH_SIZE)):
            rows = [zip(columns, json.loads(line), strict=True) for line in lines]
            _insert(table, [table(**{name: _from_text(fields[name], value) for name, value in row}) for row in rows])
            count += len(lines)
            if count % PROGRESS_ROWS == 0:
                yield count
    yield count


def _from_text(field: "models.Field[Any, Any]", value: Any) -> Any:
    if isinstance(field, EncryptedTextField) and value:
        return Value(value, TextField())  # already encrypted
    return None if value is None else field.to_python(value)


def _insert(table: Table, rows: list[models.Model]) -> None:
    """Insert the rows unchanged: `bulk_create` would set automatic times to now."""
    fields = _fields(table)
    batch_size = connection.ops.bulk_batch_size(fields, rows)
    for start in range(0, len(rows), batch_size):
        query = InsertQuery(table)
        query.insert_values(fields, rows[start : start + batch_size], raw=True)
        query.get_compiler(connection=connection).execute_sql()


def all_tables(apps: Apps) -> list[Table]:
    """Return the tables of Django's models, including those of many-to-many relations."""
    models = apps.get_models(include_auto_created=True)
    return [model for model in models if model._meta.managed and not model._meta.proxy]


def backup_tables(apps: Apps) -> dict[str, Table]:
    """Return the tables of a backup by name."""
    return {table._meta.db_table: table for table in all_tables(apps) if table._meta.db_table not in LEFT_OUT}


def _fields(table: Table) -> "list[models.Field[Any, Any]]":
    return cast("list[models.Field[Any, Any]]", list(table._meta.local_concrete_fields))


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
