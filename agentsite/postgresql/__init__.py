"""A database backend: Django's for PostgreSQL, which reports an unavailable server to requests immediately."""

import os
import socket
from collections.abc import Mapping
from typing import Any

NAME = f"agentsite@{socket.gethostname()}:{os.getpid()}"[:63]  # this process in pg_stat_activity
OPTIONS: Mapping[str, Any] = {
    "application_name": NAME,
    # The timeout ends the transaction of a suspended process, as others wait for its locks. No JIT: no query runs
    # long enough to be worth a second of compilation, which PostgreSQL may choose by its estimate.
    "options": "-c idle_in_transaction_session_timeout=10s -c jit=off",
    # Values are sent apart from the text, so a connection no longer parses or plans a query from the sixth time on.
    "server_side_binding": True,
    "prepare_threshold": 5,
    # A lost host is detected after half a minute, not after the two hours of TCP.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # ms
}
