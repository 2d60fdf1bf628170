"""A number that every change of a setting or a secret increases, however it is made, by database triggers.

With it, a running task learns from one row whether settings have changed. The table and the triggers are created after
each `migrate`, where they are missing.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import DEFAULT_DB_ALIAS, connections, models

from llm_app.models import Budget, LearnedQuirk, LogicalModel, Provider, Route, Secret, ServiceKey
from tasks_app.models import Agent, Limits, Project, ProjectMember, PromptSection, SessionMember
from tools_app.models import McpServer, McpTool, RolePolicy, Skill, ToolSetting, UserPolicy

WATCHED: tuple[type[models.Model], ...] = (
    *(Limits, Agent, Agent.handoffs.through, Agent.roles.through, PromptSection),
    *(Group, get_user_model().groups.through),
    *(Budget, Provider, Route, LearnedQuirk, LogicalModel, LogicalModel.roles.through),
    *(ToolSetting, ToolSetting.roles.through, RolePolicy, UserPolicy),
    *(McpServer, McpServer.roles.through, McpTool),
    *(Skill, Skill.roles.through),
    *(SessionMember, Project, ProjectMember),  # members' secrets are redacted
    *(Secret, ServiceKey),  # redacted, with the keys of providers
)
_TABLE = "CREATE TABLE IF NOT EXISTS settings_version (version bigint NOT NULL)"
_FIRST = "INSERT INTO settings_version SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM settings_version)"
_RAISE = "UPDATE settings_version SET version = version + 1"
_FUNCTION = f"""CREATE OR REPLACE FUNCTION raise_settings_version() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN {_RAISE}; RETURN NULL; END $$"""
_ON_POSTGRES = """CREATE TRIGGER {table}_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION raise_settings_version()"""
_ON_SQLITE = f"""CREATE TRIGGER IF NOT EXISTS {{table}}_{{event}}_version AFTER {{event}} ON {{table}}
    BEGIN {_RAISE}; END"""
_TRIGGERS = {
    "postgresql": r"SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname LIKE '%\_version'",
    "sqlite": r"SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%\_version' ESCAPE '\'",
}


def install(using: str, **kwargs: Any) -> None:
    """Create the missing triggers for existing tables, after `migrate`, also of a single app.

    A table that a migration has rebuilt has lost its triggers.
    """
    database = connections[using]
    with database.cursor() as cursor:
        cursor.execute(_TABLE)
        cursor.execute(_FIRST)
        cursor.execute(_TRIGGERS[database.vendor])
        existing = [table for (table,) in cursor.fetchall()]
        tables = {model._meta.db_table for model in WATCHED} & set(database.introspection.table_names(cursor))
        for statement in _missing(database.vendor, sorted(tables), existing):
            cursor.execute(statement)


def increase() -> None:
    """Increase the version, in the transaction of a change to a table without triggers that tasks must notice."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_RAISE)


def _missing(vendor: str, tables: Sequence[str], existing: Sequence[str]) -> list[str]:
    if vendor == "postgresql":
        return [_FUNCTION, *(_ON_POSTGRES.format(table=table) for table in tables if table not in existing)]
    events = ("insert", "update", "delete")
    incomplete = [table for table in tables if existing.count(table) < len(events)]
    return [_ON_SQLITE.format(table=table, event=event) for table in incomplete for event in events]
