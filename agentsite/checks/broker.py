"""The broker, which wakes workers."""

from celery import current_app
from kombu.exceptions import OperationalError

from agentsite.checks.messages import Finding, broken, fine
from agentsite.environment import EMBEDDED

_NAME = "broker"


def reachable() -> Finding:
    try:
        with current_app.connection_for_write(connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
    except (OperationalError, OSError) as error:
        return broken(_NAME, f"The broker cannot be reached: {type(error).__name__}.", "Check REDIS_URL and Redis.")
    return fine(_NAME, "The broker is this process's memory." if EMBEDDED else "Redis answers.")
