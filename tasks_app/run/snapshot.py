"""The state that a running task polls with one query: requests by people, its lease, and the version of settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from tasks_app.models import PERSON_WAITS, Mode, Task

VERSION = "(SELECT version FROM settings_version)"
# Columns for a row of `tasks`. SQLite 3.40 evaluates IS NOT NULL wrongly in RETURNING.
# MIN(mode): the modes of waiting messages are in the alphabetical order of their urgency.
_TASK_COLUMNS = f"""
    {VERSION},
    tasks.epoch,
    tasks.stop_requested_at,
    (SELECT MIN(mode) FROM inbox_messages
        WHERE session_id = tasks.session_id AND delivered_seq IS NULL AND mode <> '{Mode.QUEUE.value}'),
    (SELECT COALESCE(SUM(epoch), 0) FROM circuit_breakers)"""  # noqa: S608  a constant
_SESSION_COLUMNS = (
    "COALESCE(sessions.active_agent_id, sessions.agent_id)",
    "sessions.denied_tools",
    "sessions.project_id",
    "(SELECT version FROM projects WHERE id = sessions.project_id)",
)
# For RETURNING, which has no joins in SQLite.
_SUBQUERIES = [f"(SELECT {column} FROM sessions WHERE id = tasks.session_id)" for column in _SESSION_COLUMNS]  # noqa: S608
COLUMNS = ", ".join([_TASK_COLUMNS, *_SUBQUERIES])
_QUERY = (
    f"SELECT {', '.join([_TASK_COLUMNS, *_SESSION_COLUMNS])} "  # noqa: S608
    "FROM tasks JOIN sessions ON sessions.id = tasks.session_id WHERE tasks.id = %s"
)


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """The state that can change while a task runs.

    `version` counts the changes of settings and secrets, `breakers` those of all circuit breakers. Read them before the
    values they cover, so that a stale value never passes as fresh. `agent` is the key of the acting agent.
    `denied_tools` is the raw JSON of the database, only to be compared. `project` has the key of the session's project
    and its version.
    """

    epoch: int
    stop_requested: bool
    message: str  # mode of the most urgent waiting message, an interjection before a steer, or ''
    version: int
    breakers: int
    agent: int | None
    denied_tools: str
    project: tuple[Any, int | None]

    def interrupts(self, task: Task) -> bool:
        """Return whether the task should leave what it is doing.

        A person wants it to stop or to read a message, or another worker has taken it over, so its work would be
        discarded.
        """
        return self.stop_requested or self.message == Mode.INTERJECT or self.epoch != task.epoch

    def ends_wait(self, task: Task, waiting_for: str) -> bool:
        """Return whether the task need not begin to wait, because a person has stopped it or sent a message.

        A steering message does not end a wait for children: they would be stopped for it.
        """
        return self.interrupts(task) or (bool(self.message) and waiting_for in PERSON_WAITS)

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> "TaskSnapshot":
        """Build it from a row of `COLUMNS`."""
        version, epoch, stop, message, breakers, agent, denied, *project = row
        return cls(epoch, stop is not None, message or "", version, int(breakers), agent, denied, (*project,))

    @classmethod
    def take(cls, task: Task) -> "TaskSnapshot":
        """Read the state with raw SQL, as this runs several times a step.

        Raises: Task.DoesNotExist.
        """
        database = connections[DEFAULT_DB_ALIAS]
        with database.cursor() as cursor:
            cursor.execute(_QUERY, [Task._meta.pk.get_db_prep_value(task.id, database)])
            row = cursor.fetchone()
        if row is None:
            raise Task.DoesNotExist
        return cls.of_row(row)
