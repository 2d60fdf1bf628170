"""The admin of sessions, tasks and the record. The record is read-only: its rows are deleted with their session."""

from tasks_app.admin import agent_versions, agents, llm_calls, operations, projects, record, routing, sessions, tracing

__all__ = [
    "agent_versions",
    "agents",
    "llm_calls",
    "operations",
    "projects",
    "record",
    "routing",
    "sessions",
    "tracing",
]
