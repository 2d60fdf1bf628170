"""The search index over the terms of memory notes: FTS5 on SQLite, a GIN index on PostgreSQL.

It is made after each `migrate`, where it is missing: it holds nothing that the notes do not hold.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection, connections
from django.db.models.expressions import RawSQL

_FORGET = "INSERT INTO memory_terms(memory_terms, rowid, terms) VALUES ('delete', old.id, old.terms)"
_LEARN = "INSERT INTO memory_terms(rowid, terms) VALUES (new.id, new.terms)"
_SQLITE = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS memory_terms
       USING fts5(terms, content='memory_notes', content_rowid='id', tokenize='unicode61 remove_diacritics 0')""",
    f"CREATE TRIGGER IF NOT EXISTS memory_added AFTER INSERT ON memory_notes BEGIN {_LEARN}; END",
    f"CREATE TRIGGER IF NOT EXISTS memory_deleted AFTER DELETE ON memory_notes BEGIN {_FORGET}; END",
    f"""CREATE TRIGGER IF NOT EXISTS memory_changed AFTER UPDATE OF terms ON memory_notes
        BEGIN {_FORGET}; {_LEARN}; END""",
    "INSERT INTO memory_terms(memory_terms) VALUES ('rebuild')",
)
_HAS_TRIGGER = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'memory_notes'"
_LEXEMES = "array_to_tsvector(string_to_array(terms, ' '))"  # as they are: no dictionary, no parser
_POSTGRES = f"CREATE INDEX IF NOT EXISTS memory_terms ON memory_notes USING gin ({_LEXEMES})"
_ON_POSTGRES = f"SELECT id FROM memory_notes WHERE {_LEXEMES} @@ %s::tsquery"  # noqa: S608  constants of ours
_ON_SQLITE = "SELECT rowid FROM memory_terms WHERE memory_terms MATCH %s"


def install(using: str, **kwargs: Any) -> None:
    """After `migrate`, also of another app alone, on an empty database.

    A table that a migration has made anew has lost its triggers: all is read in again.
    """
    database = connections[using]
    with database.cursor() as cursor:
        if "memory_notes" not in database.introspection.table_names(cursor):
            return
        if database.vendor == "postgresql":
            cursor.execute(_POSTGRES)
            return
        cursor.execute(_HAS_TRIGGER)
        if cursor.fetchone()[0] < 3:
            for statement in _SQLITE:
                cursor.execute(statement)


def ids_with_any_term(terms: Sequence[str]) -> RawSQL:
    """The ids of the notes that have any of these terms, for a filter. Terms come from `terms_of` alone."""
    if connection.vendor == "postgresql":
        return RawSQL(_ON_POSTGRES, [" | ".join(f"'{term}'" for term in terms)])  # noqa: S611  terms are letters
    return RawSQL(_ON_SQLITE, [" OR ".join(f'"{term}"' for term in terms)])  # noqa: S611
