"""The admin of sessions, tasks and the record. The record is only looked at: its rows go with their whole session."""

from tasks_app.admin import (
    agents,
    calls,
    engine_processes,
    file_versions,
    limits,
    llm_calls,
    loaded,
    memory,
    operations,
    people,
    record,
    sessions,
    tasks,
    workflows,
)

__all__ = [
    "agents",
    "calls",
    "engine_processes",
    "file_versions",
    "limits",
    "llm_calls",
    "loaded",
    "memory",
    "operations",
    "people",
    "record",
    "sessions",
    "tasks",
    "workflows",
]
