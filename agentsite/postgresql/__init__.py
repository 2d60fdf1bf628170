"""A database backend: Django's for PostgreSQL, which says at once to whoever waits for an answer that it is away."""

from collections.abc import Mapping
from typing import Any

OPTIONS: Mapping[str, Any] = {
    # A process that was suspended inside a transaction holds locks that all others wait for: not for longer.
    "options": "-c idle_in_transaction_session_timeout=10s",
    # Values go beside their text, so what a connection asks for the sixth time is parsed and planned no more.
    "server_side_binding": True,
    "prepare_threshold": 5,
}
