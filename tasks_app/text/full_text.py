"""Full-text indexes over a column of terms: FTS5 on SQLite, a GIN index on PostgreSQL.

Missing indexes are created after each `migrate`: they contain only data of the rows.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection, connections
from django.db.models import Func, Q, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.lookups import Contains

from tasks_app.text.retrieval import UNSEEN

_LEXEMES = "array_to_tsvector(string_to_array(terms, ' '))"  # unchanged: no dictionary, no parser
_HAS_TRIGGER = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s"


class FullText:
    """A full-text index over a table. Terms come from `retrieval` only, so they consist of letters and digits."""

    def __init__(self, name: str, table: str, options: str = "") -> None:
        self.table = table
        index = f"{name}_terms"
        delete = f"INSERT INTO {index}({index}, rowid, terms) VALUES ('delete', old.id, old.terms)"  # noqa: S608
        insert = f"INSERT INTO {index}(rowid, terms) VALUES (new.id, new.terms)"  # noqa: S608
        self._sqlite = (
            f"""CREATE VIRTUAL TABLE IF NOT EXISTS {index} USING fts5(terms, content='{table}',
                content_rowid='id', tokenize='unicode61 remove_diacritics 0'{options})""",
            f"CREATE TRIGGER IF NOT EXISTS {name}_added AFTER INSERT ON {table} BEGIN {insert}; END",
            f"CREATE TRIGGER IF NOT EXISTS {name}_deleted AFTER DELETE ON {table} BEGIN {delete}; END",
            f"""CREATE TRIGGER IF NOT EXISTS {name}_changed AFTER UPDATE OF terms ON {table}
                BEGIN {delete}; {insert}; END""",
            f"INSERT INTO {index}({index}) VALUES ('rebuild')",  # noqa: S608
        )
        self._postgres = (
            # PostgreSQL assumes that reading the terms of a row is free. With statistics that say that most rows have
            # a word, or with pending entries in the index, it would scan all rows.
            f"CREATE INDEX IF NOT EXISTS {name}_lexemes ON {table} USING gin ({_LEXEMES}) WITH (fastupdate = off)",
            f"ALTER INDEX {name}_lexemes ALTER COLUMN 1 SET STATISTICS 0",
            f"DROP INDEX IF EXISTS {index}",  # from earlier versions, with statistics
        )
        self._postgres_query = f"SELECT id FROM {table} WHERE {_LEXEMES} @@ %s::tsquery"  # noqa: S608
        self._sqlite_query = f"SELECT rowid FROM {index} WHERE {index} MATCH %s"  # noqa: S608

    def install(self, using: str) -> None:
        """Create the index if it is missing. It is rebuilt if a migration has recreated the table
        without its triggers.
        """
        database = connections[using]
        with database.cursor() as cursor:
            if self.table not in database.introspection.table_names(cursor):
                return
            statements: Sequence[str] = self._postgres
            if database.vendor == "sqlite":
                cursor.execute(_HAS_TRIGGER, [self.table])
                statements = self._sqlite if cursor.fetchone()[0] < 3 else ()
            for statement in statements:
                cursor.execute(statement)

    def ids_with_any(self, terms: Sequence[str]) -> RawSQL:
        """Return the ids of rows with any of these terms, for a filter."""
        return self.ids(_joined(terms, " | ", " OR "))

    def ids(self, query: Any) -> RawSQL:
        """Return the ids of rows that match a query, for a filter."""
        return RawSQL(self._postgres_query if connection.vendor == "postgresql" else self._sqlite_query, [query])  # noqa: S611


def field_contains(field: str, word: Any) -> Q:
    """Return a filter for a folded word in the text of a field, in any spelling."""
    return Q(Contains(_Folded(field), _as_expression(word)))


def call_contains(field: str, word: Any) -> Q:
    """Return a filter for a folded word in the text that a call says, by the field with its JSON."""
    return Q(Contains(_CallText(field), _as_expression(word)))


def _as_expression(word: Any) -> Any:
    return word if isinstance(word, RawSQL) else Value(word)


class _Folded(Func):
    """`retrieval.fold` in SQL: a function of `agentsite/sqlite`, or the closest functions of PostgreSQL."""

    function, output_field = "FOLD", TextField()
    of_postgresql = f"replace(translate(lower(normalize(%(expressions)s, NFKC)), 'İıς{UNSEEN}', 'iiσ'), 'ß', 'ss')"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template=self.of_postgresql, **context)


class _CallText(_Folded):
    """`call_text.text_of_call`, folded. PostgreSQL searches all values of the call, as its JSON can be damaged."""

    function = "SAID"
    of_postgresql = _Folded.of_postgresql.replace(
        "%(expressions)s", r"""regexp_replace(%(expressions)s, '\\?"\w+\\?": ?', ' ', 'g')"""
    )


def query_for_all(terms: Sequence[str], *, unfinished: bool) -> str:
    """Return a query for all of these terms. The last one is a prefix if it is `unfinished`."""
    ending = ":*" if connection.vendor == "postgresql" else "*"
    return _joined(terms, " & ", " AND ") + (ending if unfinished else "")


def _joined(terms: Sequence[str], postgres_operator: str, sqlite_operator: str) -> str:
    if connection.vendor == "postgresql":
        return postgres_operator.join(f"'{term}'" for term in terms)
    return sqlite_operator.join(f'"{term}"' for term in terms)


NOTES = FullText("memory", "memory_notes")
LIBRARY = FullText("library", "library_passages")
# Prefixes are indexed for search as you type. Positions are not stored.
SESSIONS = FullText("session", "session_texts", ", detail='none', prefix='1 2 3'")


def install(using: str, **kwargs: Any) -> None:
    """Install all indexes after `migrate`, which may run for one app alone or on an empty database."""
    for index in (NOTES, LIBRARY, SESSIONS):
        index.install(using)
