"""PostgreSQL with two kinds of connections: while it is away, requests fail immediately and workers wait."""

from typing import Any

from django.db import OperationalError
from django.db.backends.postgresql import base
from psycopg import OperationalError as PsycopgError
from psycopg import connect
from psycopg.conninfo import make_conninfo
from psycopg.errors import ConnectionTimeout
from psycopg.pq import PGconn, Ping

_PING_SECONDS = 2


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of one thread. `is_patient` threads wait for a restart of PostgreSQL, others fail immediately."""

    is_patient = True

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if not self.is_patient and not self._has_idle_connection() and not _server_answers(conn_params):
            raise OperationalError("PostgreSQL does not answer, or takes no connections yet")
        return super().get_new_connection(conn_params)

    def _has_idle_connection(self) -> bool:
        """Return whether the pool has an idle connection. Requests drop broken ones (`drop_broken_connections`)."""
        pool = self.pool  # type: ignore[attr-defined]  # since Django 5.1
        return pool is not None and bool(pool.get_stats().get("pool_available"))


def _server_answers(conn_params: dict[str, Any]) -> bool:
    """Return whether PostgreSQL answers.

    A ping blocks all threads of this process, so it only follows a refused connection, to find out the reason.
    """
    parameters = {name: conn_params[name] for name in ("host", "port", "dbname", "user") if name in conn_params}
    conninfo = make_conninfo(**parameters, connect_timeout=_PING_SECONDS)
    try:
        connect(conninfo).close()
    except ConnectionTimeout:
        return False
    except PsycopgError:
        return PGconn.ping(conninfo.encode()) == Ping.OK
    return True
