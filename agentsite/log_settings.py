"""Django's setting LOGGING."""

from logging import LogRecord

from agentsite.environment import env

LOG_LEVEL = env.choice("LOG_LEVEL", "WARNING", "DEBUG", "INFO", "ERROR", "CRITICAL")


MAX_VALUE_LENGTH = 300  # characters of a path: otherwise a stranger could log 16 KB with each request
REFUSALS = ("DisallowedHost", "RequestDataTooBig", "TooManyFieldsSent", "TooManyFilesSent")


def _drop_traceback(record: LogRecord) -> bool:
    """Remove the traceback of a message that is complete without it: for a wrong Host, it shows our middleware."""
    record.exc_info = None
    return True


def _shorten_values(record: LogRecord) -> bool:
    """Shorten the path of the request."""
    if isinstance(record.args, tuple):
        record.args = tuple(value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value for value in record.args)
    return True


def _is_not_503(record: LogRecord) -> bool:
    """Return False for 503 responses: the code that is busy or not ready logs the reason, and not as an error."""
    return getattr(record, "status_code", None) != 503


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {  # both redact secrets, so loggers need not
        "line": {
            "()": "llm_app.redaction.logs.RedactingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s%(suffix)s",
            "defaults": {"suffix": ""},
        },
        "json": {"()": "llm_app.redaction.logs.JSONFormatter"},
    },
    "filters": {
        "not 503": {"()": "django.utils.log.CallbackFilter", "callback": _is_not_503},
        "ids": {"()": "tasks_app.runtime.log_ids.AddIds"},
        "one line": {"()": "django.utils.log.CallbackFilter", "callback": _drop_traceback},
        "short": {"()": "django.utils.log.CallbackFilter", "callback": _shorten_values},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": env.choice("LOG_FORMAT", "line", "json"),
            "filters": ["ids"],
        },
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Django's own handlers for these loggers would not redact.
    "loggers": {
        **{name: {"handlers": [], "propagate": True, "level": LOG_LEVEL} for name in ("django", "django.server")},
        "django.request": {"filters": ["not 503", "short"]},
        **{f"django.security.{name}": {"filters": ["one line"]} for name in REFUSALS},
    },
}
