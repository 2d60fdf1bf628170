"""Prepared SQL behind querysets: cached statements, and rows written in one message."""

from llm_app.sql.cached_sql import cached_sql, fetch_all, fetch_first, update_all
from llm_app.sql.composed_query import Select
from llm_app.sql.statements import Insert, Statement, Update, execute, save, stored

__all__ = [
    "Insert",
    "Select",
    "Statement",
    "Update",
    "cached_sql",
    "execute",
    "fetch_all",
    "fetch_first",
    "save",
    "stored",
    "update_all",
]
