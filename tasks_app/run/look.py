"""What a running task asks at once: all that may have moved since it last looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from tasks_app.models import PERSON, Mode, Task

VERSION = "(SELECT version FROM settings_version)"
# Of a row of `tasks`. SQLite 3.40 answers IS NOT NULL wrongly in what a statement returns.
# Of the modes of waiting messages, the first in the alphabet is the more urgent one.
_OF_TASK = f"""
    {VERSION},
    tasks.epoch,
    tasks.stop_requested_at,
    (SELECT MIN(mode) FROM inbox_messages
        WHERE session_id = tasks.session_id AND delivered_seq IS NULL AND mode <> '{Mode.QUEUE.value}'),
    (SELECT COALESCE(SUM(epoch), 0) FROM circuit_breakers)"""  # noqa: S608  a constant
_OF_SESSION = (
    "COALESCE(sessions.active_agent_id, sessions.agent_id)",
    "sessions.denied_tools",
    "sessions.project_id",
    "(SELECT version FROM projects WHERE id = sessions.project_id)",
)
# What is returned is of one table: SQLite joins nothing there.
_BY_TASK = [f"(SELECT {one} FROM sessions WHERE id = tasks.session_id)" for one in _OF_SESSION]  # noqa: S608
COLUMNS = ", ".join([_OF_TASK, *_BY_TASK])
_LOOK = (
    f"SELECT {', '.join([_OF_TASK, *_OF_SESSION])} "  # noqa: S608
    "FROM tasks JOIN sessions ON sessions.id = tasks.session_id WHERE tasks.id = %s"
)


@dataclass(frozen=True, slots=True)
class Look:
    """`version` counts the changes of settings and secrets, `breakers` those of all circuit breakers.

    Who reads what they stand for after them never holds an old value for a new one. `agent` is the key of the one that
    acts. The denied tools are as the database has them: to be compared, not to be looked up. `project` is the
    key of the session's, with the version that it has.
    """

    epoch: int
    stop_requested: bool
    message: str  # the mode of one that waits for the task, an interjection before a steer; empty without any
    version: int
    breakers: int
    agent: int | None
    denied_tools: str
    project: tuple[Any, int | None]

    def interrupts(self, task: Task) -> bool:
        """Whether a person wants the task to leave what it is doing: to stop, or to read what they wrote; or whether
        another worker has taken it over, so that whatever it does comes to nothing.
        """
        return self.stop_requested or self.message == Mode.INTERJECT or self.epoch != task.epoch

    def ends_wait(self, task: Task, waiting_for: str) -> bool:
        """Whether it need not begin to wait: a person has stopped it, or written what it can go on with.

        What only steers ends no wait for those to whom it has delegated: they would be stopped for it.
        """
        return self.interrupts(task) or (bool(self.message) and waiting_for in PERSON)

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> "Look":
        """From `COLUMNS`."""
        version, epoch, stop, message, breakers, agent, denied, *project = row
        return cls(epoch, stop is not None, message or "", version, int(breakers), agent, denied, (*project,))


def look_at(task: Task) -> Look:
    """Raw SQL, for it runs several times a step. Raises Task.DoesNotExist."""
    database = connections[DEFAULT_DB_ALIAS]
    with database.cursor() as cursor:
        cursor.execute(_LOOK, [Task._meta.pk.get_db_prep_value(task.id, database)])
        row = cursor.fetchone()
    if row is None:
        raise Task.DoesNotExist
    return Look.of_row(row)
