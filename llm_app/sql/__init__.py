"""Cached SQL: queryset methods that are compiled once, and statements for the rows that every iteration writes."""

from llm_app.sql.django_internals import with_rows
from llm_app.sql.queries import cached_sql, fetch_all, fetch_first, update_all
from llm_app.sql.statements import InsertRows, Statement, UpdateRow, execute, executed, save

__all__ = [
    "InsertRows",
    "Statement",
    "UpdateRow",
    "cached_sql",
    "execute",
    "executed",
    "fetch_all",
    "fetch_first",
    "save",
    "update_all",
    "with_rows",
]
