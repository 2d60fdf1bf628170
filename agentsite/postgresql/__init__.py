"""A database backend: Django's for PostgreSQL, which says at once to whoever waits for an answer that it is away."""

import os
import socket
from collections.abc import Mapping
from typing import Any

NAME = f"agentsite@{socket.gethostname()}:{os.getpid()}"[:63]  # of this process, in pg_stat_activity
OPTIONS: Mapping[str, Any] = {
    "application_name": NAME,
    # A process that was suspended inside a transaction holds locks that all others wait for: not for longer.
    # And no query runs long enough to be worth a second of compiling it, which PostgreSQL does by its estimate.
    "options": "-c idle_in_transaction_session_timeout=10s -c jit=off",
    # Values go beside their text, so what a connection asks for the sixth time is parsed and planned no more.
    "server_side_binding": True,
    "prepare_threshold": 5,
    # A host that is gone without a word is missed after half a minute, not after the two hours of TCP.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # ms
}
